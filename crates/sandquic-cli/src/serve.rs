//! `sandquic serve`.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use sandquic_host::Input;

use crate::cli::ServeArgs;
use crate::sandbox::{self, Grants};
use crate::{Failure, signals};

pub(crate) fn serve(arguments: ServeArgs) -> Result<ExitCode, Failure> {
    let ServeArgs { mut server, place, instances } = arguments;
    if server.cert.is_none() && server.state.is_none() {
        server.state = state_directory();
    }
    // Their names are the command's to make: a component cannot see whether they are there.
    for directory in [&server.state, &server.qlog].into_iter().flatten() {
        make_directory(directory)?;
    }
    if place.native {
        if instances.is_some() {
            let detail = "--instances is for components; a native server has one thread";
            return Err(Failure::Usage(detail.into()));
        }
        let (stop, stopped) = tokio::sync::oneshot::channel();
        signals::on_stop(move || {
            // Nobody waits for it any more if the server has failed meanwhile.
            let _ = stop.send(());
        })?;
        let stopped = async { drop(stopped.await) };
        let status = sandquic::block_on(sandquic_web::serve::run_until(server, stopped));
        return Ok(ExitCode::from(status));
    }
    if instances.is_some() && server.listen.port() == 0 {
        let detail = "instances share a port by its number; name one with --listen ADDRESS:PORT";
        return Err(Failure::Usage(detail.into()));
    }
    let mut grants = Grants::default();
    server.directory = grants.directory(&server.directory, false)?;
    for (path, writable) in [(&mut server.state, true), (&mut server.upload, true), (&mut server.qlog, true)]
    {
        if let Some(path) = path {
            *path = grants.directory(path, writable)?;
        }
    }
    for (path, writable) in [(&mut server.cert, false), (&mut server.key, false), (&mut server.keylog, true)]
    {
        if let Some(path) = path {
            *path = grants.file(path, writable)?;
        }
    }
    // The other ends of the instances' standard inputs; `None` once the server is to stop.
    let pipes = Arc::new(Mutex::new(Some(Vec::new())));
    let held = pipes.clone();
    signals::on_stop(move || drop(held.lock().unwrap_or_else(PoisonError::into_inner).take()))?;
    let stdin = || {
        let (stdin, pipe) = Input::pipe();
        if let Some(pipes) = pipes.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            pipes.push(pipe);
        }
        stdin
    };
    sandbox::run("serve", &place, instances, grants, server.words(), stdin)
}

/// Where the certificate is kept unless the command line says otherwise: in the user's directory for states
/// (`$XDG_STATE_HOME`, `$HOME/.local/state`, `%LOCALAPPDATA%`).
fn state_directory() -> Option<String> {
    let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    variable("XDG_STATE_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".local/state")))
        .or_else(|| variable("LOCALAPPDATA"))
        .and_then(|base| base.join("sandquic/serve").into_os_string().into_string().ok())
}

/// Makes a directory that others cannot look into, unless it is there.
fn make_directory(path: &str) -> Result<(), Failure> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(path)
        .map_err(|error| Failure::Failed(format!("the directory {path} cannot be made: {error}")))
}
