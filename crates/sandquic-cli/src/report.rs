//! `sandquic report`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use sandquic_report::{Analysis, Source, embed};

use crate::Failure;
use crate::cli::ReportArgs;

pub(crate) fn report(arguments: &ReportArgs) -> Result<ExitCode, Failure> {
    if arguments.out.is_none() && arguments.readme.is_none() && arguments.mapping.is_none() {
        return Err(Failure::Usage(
            "say what to make of the record: --out DIR, --readme FILE or --mapping FILE".into(),
        ));
    }
    let mut sources = Vec::new();
    for path in &arguments.records {
        sources.push(Source::read(path)?);
    }
    let analysis = Analysis::new(sources, arguments.allow_mixed)?;
    for problem in &analysis.problems {
        eprintln!("sandquic: {problem}");
    }
    if let Some(directory) = &arguments.out {
        fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
        for (name, content) in sandquic_report::files(&analysis) {
            write(&directory.join(name), &content)?;
        }
    }
    let mut texts = Vec::new();
    if let Some(readme) = &arguments.readme {
        let directory = folder(readme);
        let block = embed::headline(&analysis, directory);
        texts.push((
            readme.clone(),
            embed::replace(&read(readme)?, "headline", &block).map_err(within(readme))?,
        ));
        texts.push((directory.join(embed::HEADLINE_CHART), embed::headline_chart(&analysis)));
    }
    if let Some(mapping) = &arguments.mapping {
        let block = embed::mapping(&analysis, folder(mapping));
        texts.push((
            mapping.clone(),
            embed::replace(&read(mapping)?, "paper-mapping", &block).map_err(within(mapping))?,
        ));
    }
    if !arguments.check {
        for (path, text) in &texts {
            write(path, text)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut stale = Vec::new();
    for (path, text) in &texts {
        if fs::read(path).ok().as_deref() != Some(text.as_bytes()) {
            stale.push(path.display().to_string());
        }
    }
    if stale.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::Failed(format!(
        "not what the records give: {}; run the same command without --check",
        stale.join(", ")
    )))
}

/// The directory of a file.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| failed(path, &error))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::create_dir_all(folder(path)).map_err(|error| failed(path, &error))?;
    fs::write(path, text).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

fn within(path: &Path) -> impl FnOnce(sandquic_report::Error) -> Failure {
    let path = path.display().to_string();
    move |error| Failure::Failed(format!("{path}: {error}"))
}

impl From<sandquic_report::Error> for Failure {
    fn from(error: sandquic_report::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
