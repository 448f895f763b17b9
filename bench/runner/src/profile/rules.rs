//! The rules: an ordered list of patterns with the category that each stands for.

use regex::{Regex, RegexSet};
use serde::Deserialize;

use super::CATEGORIES;
use super::script::ENGINE;
use crate::Error;

const BUILT_IN: &str = include_str!("rules.toml");

/// Rules by which a symbol and its object are put into a category.
#[derive(Debug, Clone)]
pub struct Rules(Vec<Rule>);

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    name: String,
    category: &'static str,
    why: String,
    /// `None` takes every symbol.
    symbols: Option<RegexSet>,
    /// `None` takes every object.
    object: Option<Regex>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    name: String,
    category: String,
    why: String,
    symbols: Option<Vec<String>>,
    object: Option<String>,
}

impl Rules {
    /// The rules of this crate.
    ///
    /// # Errors
    /// None in a build that passed its tests; see [`Rules::parse`].
    pub fn built_in() -> Result<Self, Error> {
        Self::parse(BUILT_IN)
    }

    /// Reads rules in the form of this crate's `rules.toml`, which explains it.
    ///
    /// # Errors
    /// [`Error::Failed`] naming the rule and what is wrong with it: a key that is missing or unknown, an unknown category, a
    /// name that is taken, a pattern that is none or that takes every symbol of an object that is not the engine's.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut table: toml::Table = toml::from_str(text).map_err(|error| {
            Error::failed(format!("the profile's rules are no TOML: {}", one_line(&error)))
        })?;
        let entries = match table.remove("rule") {
            Some(toml::Value::Array(entries)) => entries,
            _ => return Err(Error::failed("the profile's rules hold no [[rule]]")),
        };
        if let Some(key) = table.keys().next() {
            return Err(Error::failed(format!("the profile's rules have an unknown key {key:?}")));
        }
        let mut rules: Vec<Rule> = Vec::with_capacity(entries.len());
        for (index, entry) in entries.into_iter().enumerate() {
            let named = entry.get("name").and_then(toml::Value::as_str).map(|name| format!(" ({name})"));
            let place = format!("rule {}{} of the profile", index + 1, named.unwrap_or_default());
            let rule = entry.try_into().map_err(|error: toml::de::Error| one_line(&error));
            let rule =
                rule.and_then(Rule::new).map_err(|message| Error::failed(format!("{place}: {message}")))?;
            if rules.iter().any(|other| other.name == rule.name) {
                return Err(Error::failed(format!("{place}: another rule has this name")));
            }
            rules.push(rule);
        }
        Ok(Self(rules))
    }

    /// The rules in order.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.0.iter()
    }

    /// The first rule that takes this symbol (demangled) of this object.
    pub fn first_match(&self, symbol: &str, object: &str) -> Option<&Rule> {
        self.0.iter().find(|rule| rule.takes(symbol, object))
    }
}

impl Rule {
    fn new(raw: RawRule) -> Result<Self, String> {
        let RawRule { name, category, why, symbols, object } = raw;
        let category = CATEGORIES
            .into_iter()
            .find(|known| *known == category)
            .ok_or_else(|| format!("unknown category {category:?}; there are {}", CATEGORIES.join(", ")))?;
        if why.trim().is_empty() {
            return Err("`why` is empty".into());
        }
        let object = match object {
            Some(pattern) => Some(compile(&pattern)?),
            None => None,
        };
        let symbols = match symbols {
            Some(patterns) if patterns.is_empty() => return Err("`symbols` is empty".into()),
            Some(patterns) => {
                for pattern in &patterns {
                    if takes_everything(&compile(pattern)?) {
                        return Err(format!("the pattern {pattern:?} takes every symbol"));
                    }
                }
                Some(RegexSet::new(&patterns).map_err(|error| format!("too much in `symbols`: {error}"))?)
            }
            None if object.as_ref().is_some_and(takes_the_engine_alone) => None,
            None => return Err(format!("without `symbols`, a rule must be for the object {ENGINE} alone")),
        };
        Ok(Self { name, category, why, symbols, object })
    }

    /// Its name, unique among the rules.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One of [`CATEGORIES`].
    pub fn category(&self) -> &'static str {
        self.category
    }

    /// What it stands for and why it has this category.
    pub fn why(&self) -> &str {
        &self.why
    }

    fn takes(&self, symbol: &str, object: &str) -> bool {
        self.object.as_ref().is_none_or(|pattern| pattern.is_match(object))
            && self.symbols.as_ref().is_none_or(|patterns| patterns.is_match(symbol))
    }
}

fn compile(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| {
        // The last line of the message says what is wrong, the others show where.
        let error = error.to_string();
        let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("{pattern:?} is no regular expression: {reason}")
    })
}

/// Whether a pattern matches names that have nothing in common.
fn takes_everything(pattern: &Regex) -> bool {
    ["~", "Q7", "a_b::c<d>"].into_iter().all(|name| pattern.is_match(name))
}

fn takes_the_engine_alone(object: &Regex) -> bool {
    let others = ["[jit]", "[kernel]", "[vdso]", "[unknown]", "libc.so.6", "sandquic", "sandquic-peer-128"];
    object.is_match(ENGINE)
        && !others.into_iter().any(|other| object.is_match(other))
        && !takes_everything(object)
}

/// A message of the TOML reader, of which the first line says where and the last what.
fn one_line(error: &toml::de::Error) -> String {
    error.to_string().split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
