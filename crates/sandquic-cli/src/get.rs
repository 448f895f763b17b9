//! `sandquic get`.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sandquic_host::Input;
use sandquic_web::get::Args;

use crate::Failure;
use crate::cli::GetArgs;
use crate::sandbox::{self, Grants};

pub(crate) fn get(arguments: GetArgs) -> Result<ExitCode, Failure> {
    let GetArgs { mut client, place } = arguments;
    if client.keylog.is_none() {
        // A component sees no variables of this process.
        client.keylog = std::env::var("SSLKEYLOGFILE").ok().filter(|path| !path.is_empty());
    }
    for path in [&client.session, &client.keylog].into_iter().flatten() {
        make_private(path);
    }
    if client.shows_progress(std::io::stdout().is_terminal(), std::io::stderr().is_terminal()) {
        client.progress_bar = true;
    }
    if place.native {
        return Ok(ExitCode::from(sandquic::block_on(sandquic_web::get::fetch(&client))));
    }
    let mut grants = Grants::default();
    let from_stdin = reads_stdin(&client);
    outputs(&mut client, &mut grants)?;
    inputs(&mut client, &mut grants)?;
    let stdin = || if from_stdin { Input::Inherit } else { Input::Closed };
    sandbox::run("get", &place, None, grants, client.command_line(), stdin)
}

fn reads_stdin(client: &Args) -> bool {
    client.upload_file.as_deref() == Some("-")
        || client.data.iter().chain(&client.data_binary).any(|data| data == "@-")
}

/// Grants the directories that files are written to. One that is missing is the component's to complain about.
fn outputs(client: &mut Args, grants: &mut Grants) -> Result<(), Failure> {
    let base = client.output_dir.clone().unwrap_or_else(|| ".".into());
    for output in &mut client.output {
        if matches!(output.as_str(), "" | "-" | "/dev/stdout" | "/dev/null") {
            continue;
        }
        let path = Path::new(&base).join(&*output);
        *output = writable(&path, client.create_dirs, grants)?;
    }
    if client.remote_name {
        // Any name in there will do: which one is not known yet.
        let path = writable(&Path::new(&base).join("x"), client.create_dirs, grants)?;
        client.output_dir = Path::new(&path).parent().map(|path| path.to_string_lossy().into_owned());
    } else {
        client.output_dir = None;
    }
    for path in [&mut client.session, &mut client.keylog].into_iter().flatten() {
        *path = writable(Path::new(path), false, grants)?;
    }
    Ok(())
}

fn writable(path: &Path, create: bool, grants: &mut Grants) -> Result<String, Failure> {
    let path = absolute(path)?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    if create {
        // The component cannot: nothing above is granted. What is wrong will be seen there.
        let _ = fs::create_dir_all(directory);
    }
    let text = path.to_string_lossy().into_owned();
    if directory.is_dir() { grants.file(&text, true) } else { Ok(text) }
}

/// Grants the directories of the files that are read; links are followed here, since they may lead out of them.
fn inputs(client: &mut Args, grants: &mut Grants) -> Result<(), Failure> {
    let upload = client.upload_file.as_mut().filter(|path| *path != "-");
    for path in upload.into_iter().chain(&mut client.ca) {
        *path = readable(path, grants)?;
    }
    for data in client.data.iter_mut().chain(&mut client.data_binary) {
        if let Some(path) = data.strip_prefix('@').filter(|path| *path != "-") {
            *data = format!("@{}", readable(path, grants)?);
        }
    }
    Ok(())
}

fn readable(path: &str, grants: &mut Grants) -> Result<String, Failure> {
    match fs::canonicalize(path) {
        Ok(path) => grants.file(&path.to_string_lossy(), false),
        Err(_) => Ok(absolute(Path::new(path))?.to_string_lossy().into_owned()),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::Usage(format!("{} is no path: {error}", path.display())))
}

/// Makes a file for secrets, which only its owner can read. A component could not say so.
fn make_private(path: &str) {
    let mut options = fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // If it cannot be made, whoever writes it will say so.
    drop(options.open(path));
}
