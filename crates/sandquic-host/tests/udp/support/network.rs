//! A network of the test's own: loopback alone, with what `tc` and `ip` make of it.

use std::process::Command;

/// Set in the process inside.
const INSIDE: &str = "SANDQUIC_TEST_NETWORK";

/// The status of a network that cannot be made.
const NO_NETWORK: i32 = 77;

/// Runs a test's body in a network namespace whose loopback `setup`, a shell script, has changed: in another process, this
/// test program with this test alone. Needs Linux, `unshare`, `ip` and `tc`, and root or a user namespace; where the
/// system has not what it takes, that is said, and the test has not run.
#[expect(clippy::print_stderr, reason = "says why nothing was tested")]
pub(crate) fn inside(test: &str, setup: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let script = format!("(ip link set lo up && {setup}) || exit {NO_NETWORK}; exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "sh", "-c", &script, "sh"]);
    command.arg(std::env::current_exe().unwrap()).args([test, "--exact", "--nocapture"]).env(INSIDE, "1");
    match command.output() {
        Ok(output) => {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            let (out, err) = (text(&output.stdout), text(&output.stderr));
            if output.status.code() == Some(NO_NETWORK) || err.starts_with("unshare: ") {
                eprintln!("{test} has not run: there is no network for it: {err}");
                return;
            }
            assert!(output.status.success() && out.contains("1 passed"), "{out}\n{err}");
        }
        Err(error) => eprintln!("{test} has not run: there is no `unshare`: {error}"),
    }
}
