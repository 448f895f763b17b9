use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Cursor;
use std::process::Command;

use super::script::Tally;
use super::*;

const SANDBOXED: &str = include_str!("testdata/sandboxed.txt");
const NATIVE: &str = include_str!("testdata/native.txt");

fn profile(text: &str, rules: &Rules) -> Result<Profiled, Error> {
    classify(Tally::read(Cursor::new(text))?, rules)
}

fn refusal(text: &str) -> String {
    profile(text, &Rules::built_in().unwrap()).unwrap_err().to_string()
}

/// The shares of the categories under which a reader put the lines of a text.
fn labelled(text: &str) -> BTreeMap<String, f64> {
    let mut weights: BTreeMap<String, f64> = CATEGORIES.map(|name| (name.to_owned(), 0.0)).into();
    let mut category = None;
    for line in text.lines() {
        match line.strip_prefix("# ") {
            Some(label) => category = weights.keys().find(|known| *known == label).cloned(),
            None => {
                *weights.get_mut(category.as_ref().unwrap()).unwrap() +=
                    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap();
            }
        }
    }
    let sum: f64 = weights.values().sum();
    weights.into_iter().map(|(category, weight)| (category, weight / sum)).collect()
}

#[test]
fn samples_of_real_receivers_are_put_where_a_reader_put_them() {
    let rules = Rules::built_in().unwrap();
    for text in [SANDBOXED, NATIVE] {
        let profile = profile(text, &rules).unwrap();
        let expected = labelled(text);
        for category in CATEGORIES {
            let (got, expected) = (profile.categories[category], expected[category]);
            let symbols: Vec<_> =
                profile.symbols.iter().filter(|symbol| symbol.category == category).collect();
            assert!((got - expected).abs() < 1e-9, "{category}: {got} is not {expected}: {symbols:#?}");
            assert!(got > 0.0, "{category} is not reached");
        }
        let lines = text.lines().filter(|line| !line.starts_with('#')).count() as u64;
        assert_eq!(profile.samples, lines);
        // At 4,000 a second each stands for a quarter of a millisecond.
        assert!((profile.cpu_s - lines as f64 / 4000.0).abs() < 1e-12);
        assert_eq!((profile.unmatched, profile.unmatched_symbols.len()), (0.0, 0));
        assert!((profile.symbols.iter().map(|symbol| symbol.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn symbols_are_demangled_and_sorted_by_weight_and_their_objects_named() {
    let profile = profile(SANDBOXED, &Rules::built_in().unwrap()).unwrap();
    let heaviest = &profile.symbols[0];
    assert_eq!(
        (heaviest.category.as_str(), heaviest.symbol.as_str(), heaviest.object.as_str()),
        ("crypto", "sandquic_crypto::chachapoly::crypt", "[jit]")
    );
    let of = |symbol: &str| profile.symbols.iter().find(|known| known.symbol == symbol).unwrap();
    assert_eq!(of("__rustc::__rdl_dealloc").object, "[engine]");
    assert_eq!(of("udp_recvmsg").object, "[kernel]");
    assert_eq!(of("__libc_recvfrom").object, "libc.so.6");
    assert_eq!(profile.maps, [Path::new("/tmp/perf-31146.map")]);
    for pair in profile.symbols.windows(2).filter(|pair| pair[0].category == pair[1].category) {
        assert!(pair[0].share >= pair[1].share, "{pair:?}");
    }
    let native = classify(Tally::read(Cursor::new(NATIVE)).unwrap(), &Rules::built_in().unwrap()).unwrap();
    // The same program outside the sandbox is no engine.
    assert!(native.symbols.iter().any(|symbol| symbol.object == "sandquic"));
    assert!(native.maps.is_empty());
}

#[test]
fn shares_are_weighted_by_the_sampling_period_and_the_heaviest_symbols_kept() {
    let mut text =
        String::from("7 9000000 1 memcpy (/p)\n 7  250000  2 (anonymous class)::of(int) (/p (deleted))\n");
    for number in 0..HEAVIEST + 5 {
        text += &format!("7 {} 3 strange_{number} (/p)\n", 10_000 + number);
    }
    let profile = profile(&text, &Rules::built_in().unwrap()).unwrap();
    let total = 9_250_000.0 + (0..HEAVIEST + 5).map(|number| 10_000.0 + number as f64).sum::<f64>();
    assert!((profile.categories["copy"] - 9e6 / total).abs() < 1e-12);
    assert!((profile.unmatched - (1.0 - 9e6 / total)).abs() < 1e-12);
    assert_eq!(profile.unmatched, profile.categories["other"]);
    assert_eq!(profile.unmatched_symbols.len(), HEAVIEST);
    assert_eq!(profile.unmatched_symbols[0].symbol, "(anonymous class)::of(int)");
    assert_eq!(profile.unmatched_symbols[0].object, "p");
    assert_eq!(profile.unmatched_symbols[1].symbol, format!("strange_{}", HEAVIEST + 4));
}

#[test]
fn the_first_rule_that_matches_decides() {
    let rule = |name: &str, category: &str, rest: &str| {
        format!("[[rule]]\nname = \"{name}\"\ncategory = \"{category}\"\nwhy = \"a test\"\n{rest}\n")
    };
    let copy = rule("one", "copy", "symbols = ['^copy_aes', '^move_']");
    let crypto = rule("two", "crypto", "symbols = ['aes']\nobject = '^p$'");
    let rules = Rules::parse(&(copy.clone() + &crypto)).unwrap();
    let first =
        |rules: &Rules, symbol, object| rules.first_match(symbol, object).map(|rule| rule.name().to_owned());
    assert_eq!(first(&rules, "copy_aes", "p").as_deref(), Some("one"));
    assert_eq!(first(&rules, "do_aes", "p").as_deref(), Some("two"));
    assert_eq!(first(&rules, "do_aes", "q"), None);
    assert_eq!(first(&rules, "rest", "p"), None);
    let rules = Rules::parse(&(crypto + &copy)).unwrap();
    assert_eq!(first(&rules, "copy_aes", "p").as_deref(), Some("two"));
    assert_eq!(first(&rules, "copy_aes", "q").as_deref(), Some("one"));
}

#[test]
fn the_rules_of_this_crate_say_why_and_take_no_object_but_the_engine() {
    let rules = Rules::built_in().unwrap();
    for rule in rules.iter() {
        assert!(rule.why().len() > 5 && CATEGORIES.contains(&rule.category()), "{}", rule.name());
    }
    let objects =
        ["[jit]", "[kernel]", "[vdso]", "libc.so.6", "ld-linux-x86-64.so.2", "sandquic", "sandquic-peer-128"];
    for object in objects {
        assert!(rules.first_match("~nothing~", object).is_none(), "{object}");
    }
    assert_eq!(rules.first_match("~nothing~", "[engine]").unwrap().category(), "runtime");
    // What the engine hashes is the component, for its cache; what a receiver hashes is its handshake.
    let category = |object| rules.first_match("sha2::sha256::x86::digest_blocks", object).unwrap().category();
    assert_eq!(
        (category("[engine]"), category("[jit]"), category("sandquic")),
        ("runtime", "crypto", "crypto")
    );
}

#[test]
fn a_bad_rule_is_named() {
    let good = "[[rule]]\nname = \"good\"\ncategory = \"copy\"\nwhy = \"w\"\nsymbols = ['a']\n";
    let bad = |text: &str| Rules::parse(&format!("{good}[[rule]]\n{text}\n")).unwrap_err().to_string();
    let head = "name = \"bad\"\nwhy = \"w\"\n";
    for (text, expected) in [
        (
            "category = \"sleep\"\nsymbols = ['a']",
            "unknown category \"sleep\"; there are crypto, copy, socket-io",
        ),
        ("category = \"copy\"\nsymbols = ['a(']", "\"a(\" is no regular expression: unclosed group"),
        ("category = \"copy\"\nsymbols = ['a']\nobject = '['", "\"[\" is no regular expression"),
        ("category = \"copy\"\nsymbols = ['a', '.*']", "the pattern \".*\" takes every symbol"),
        ("category = \"copy\"\nsymbols = ['']", "the pattern \"\" takes every symbol"),
        ("category = \"copy\"\nsymbols = []", "`symbols` is empty"),
        ("category = \"copy\"", "without `symbols`, a rule must be for the object [engine] alone"),
        (
            "category = \"copy\"\nobject = 'kernel'",
            "without `symbols`, a rule must be for the object [engine] alone",
        ),
        (
            "category = \"copy\"\nobject = '.'",
            "without `symbols`, a rule must be for the object [engine] alone",
        ),
        ("category = \"copy\"\nsymbol = 'a'", "unknown field `symbol`"),
        ("symbols = ['a']", "missing field `category`"),
        ("category = 3\nsymbols = ['a']", "invalid type: integer `3`"),
    ] {
        let message = bad(&format!("{head}{text}"));
        assert!(message.starts_with("rule 2 (bad) of the profile: "), "{message}");
        assert!(message.contains(expected) && !message.contains('\n'), "{message}");
    }
    assert!(
        bad("category = \"copy\"\nwhy = \"w\"").starts_with("rule 2 of the profile: missing field `name`")
    );
    let again = bad("name = \"good\"\nwhy = \"w\"\ncategory = \"copy\"\nsymbols = ['a']");
    assert_eq!(again, "rule 2 (good) of the profile: another rule has this name");
    let silent = bad("name = \"bad\"\nwhy = \" \"\ncategory = \"copy\"\nsymbols = ['a']");
    assert_eq!(silent, "rule 2 (bad) of the profile: `why` is empty");
    let refused = |text: &str| Rules::parse(text).unwrap_err().to_string();
    assert!(
        refused("[[rule]\n").contains("are no TOML: TOML parse error at line 1"),
        "{}",
        refused("[[rule]\n")
    );
    assert_eq!(refused(""), "the profile's rules hold no [[rule]]");
    assert_eq!(refused(&format!("rules = 1\n{good}")), "the profile's rules have an unknown key \"rules\"");
}

#[test]
fn a_profile_without_names_is_refused() {
    let named = "5 100 1 memcpy (/lib/libc.so.6)\n";
    let text = |object: &str| named.repeat(9) + &format!("5 100 1 [unknown] ({object})\n");
    let jit = refusal(&text("/tmp/perf-5.map"));
    assert!(
        jit.contains("10 % of the profile's CPU time has no function name")
            && jit.contains("--profile perfmap"),
        "{jit}"
    );
    let kernel = refusal(&text("[kernel.kallsyms]"));
    assert!(kernel.contains("kernel.kptr_restrict"), "{kernel}");
    let program = refusal(&text("/usr/bin/stripped"));
    assert!(program.contains("/usr/bin/stripped has no symbols"), "{program}");
    // One in twenty passes, as what no rule matches.
    let few = named.repeat(19) + "5 100 1 [unknown] (/usr/bin/stripped)\n";
    let few = profile(&few, &Rules::built_in().unwrap()).unwrap();
    assert_eq!(few.unmatched_symbols[0].symbol, "[unknown]");
    assert!((few.unmatched - 0.05).abs() < 1e-12);
}

#[test]
fn a_text_that_perf_did_not_write_is_refused() {
    assert!(refusal("").contains("the profile holds no samples"), "{}", refusal(""));
    for line in [
        "nonsense",
        "5 100 1 memcpy",
        "5 100 xyz memcpy (/p)",
        "-5 100 1 memcpy (/p)",
        "5 1e9 1 memcpy (/p)",
        "5 99999999999999999999 1 memcpy (/p)",
        "5 100 1 memcpy /p)",
    ] {
        let message = refusal(&format!("5 100 1 memcpy (/p)\n{line}\n"));
        assert!(message.starts_with("line 2 of perf script is no sample"), "{line}: {message}");
        assert!(message.ends_with(line), "{message}");
    }
    let long = refusal(&format!("5 100 1 {} (/p)", "a".repeat(70_000)));
    assert!(long.contains("line 1 of perf script is longer than 65536 bytes"), "{long}");
    // Bytes that are no UTF-8 are a name like any other.
    let tally = Tally::read(Cursor::new(b"5 100 1 a\xff (/p)\n".as_slice())).unwrap();
    assert_eq!(tally.into_symbols(), [("a\u{fffd}".to_owned(), "p".to_owned(), 100)]);
}

#[test]
fn memory_is_bounded_whatever_the_text_holds() {
    struct Endless(u64, Vec<u8>);
    impl std::io::Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            if self.1.is_empty() {
                self.0 += 1;
                self.1 = format!("5 100 1 symbol_{} (/p)\n", self.0).into_bytes();
            }
            let count = self.1.len().min(into.len());
            into[..count].copy_from_slice(&self.1[..count]);
            self.1.drain(..count);
            Ok(count)
        }
    }
    let error = Tally::read(std::io::BufReader::new(Endless(0, Vec::new()))).unwrap_err();
    assert!(error.to_string().contains("more than 262144 different symbols"), "{error}");
}

#[test]
fn a_command_is_wrapped_as_it_is() {
    let mut command = Command::new("/opt/sandquic");
    command
        .args(["run", "--inherit-network", "@transfer-client"])
        .env("A", "b")
        .env_remove("C")
        .current_dir("/");
    let wrapped = wrap(command, Path::new("/d/perf.data"));
    let args: Vec<_> = wrapped.get_args().map(|arg| arg.to_str().unwrap()).collect();
    let own = args.iter().position(|arg| *arg == "--").unwrap();
    assert_eq!(wrapped.get_program(), "perf");
    assert!(args[..own].windows(2).any(|pair| pair == ["--output", "/d/perf.data"]), "{args:?}");
    assert!(args[..own].windows(2).any(|pair| pair == ["--freq", "4000"]), "{args:?}");
    assert_eq!(
        args[own + 1..],
        ["/opt/sandquic", "run", "--profile", "perfmap", "--inherit-network", "@transfer-client"]
    );
    let envs: Vec<_> = wrapped.get_envs().collect();
    assert_eq!(envs, [(OsStr::new("A"), Some(OsStr::new("b"))), (OsStr::new("C"), None)]);
    assert_eq!(wrapped.get_current_dir(), Some(Path::new("/")));
    let mut native = Command::new("/opt/sandquic");
    native.args(["bench-peer", "client", "run"]);
    let args: Vec<_> =
        wrap(native, Path::new("d")).get_args().map(|arg| arg.to_str().unwrap().to_owned()).collect();
    assert!(
        args.ends_with(&["client".into(), "run".into()]) && !args.contains(&"perfmap".to_owned()),
        "{args:?}"
    );
}
