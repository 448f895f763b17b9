//! Programs that are a component under WASI and an executable natively.

/// Make a program of `async fn run(args: Vec<String>) -> u8` (or anything that is `Into<u8>`), which gets the
/// arguments, the program's name first, and returns the exit status.
///
/// Under WASI (target `wasm32-wasip2`, crate type `cdylib`) it exports `wasi:cli/run`, of WASI 0.3 or, with the feature
/// `wasip2`, of 0.2; natively (a binary) it is `fn main`. `run` is within [`block_on`](crate::block_on) in both.
///
/// ```no_run
/// # mod m {
/// async fn run(args: Vec<String>) -> u8 {
///     u8::from(args.len() > 1)
/// }
/// sandquic::command!(run);
/// # }
/// ```
#[cfg(not(target_family = "wasm"))]
#[macro_export]
macro_rules! command {
    ($run:path) => {
        fn main() -> ::std::process::ExitCode {
            $crate::__private::run_main($run)
        }
    };
}

/// Make a program of `async fn run(args: Vec<String>) -> u8` (or anything that is `Into<u8>`), which gets the
/// arguments, the program's name first, and returns the exit status.
///
/// Under WASI (target `wasm32-wasip2`, crate type `cdylib`) it exports `wasi:cli/run`, of WASI 0.3 or, with the feature
/// `wasip2`, of 0.2; natively (a binary) it is `fn main`. `run` is within [`block_on`](crate::block_on) in both.
#[cfg(all(target_os = "wasi", not(feature = "wasip2")))]
#[macro_export]
macro_rules! command {
    ($run:path) => {
        struct Command;

        impl $crate::__private::Guest for Command {
            async fn run() -> ::core::result::Result<(), ()> {
                $crate::__private::run_main($run).await
            }
        }

        $crate::__private::export!(Command);
    };
}

/// Make a program of `async fn run(args: Vec<String>) -> u8` (or anything that is `Into<u8>`), which gets the
/// arguments, the program's name first, and returns the exit status.
///
/// Under WASI (target `wasm32-wasip2`, crate type `cdylib`) it exports `wasi:cli/run`, of WASI 0.3 or, with the feature
/// `wasip2`, of 0.2; natively (a binary) it is `fn main`. `run` is within [`block_on`](crate::block_on) in both.
#[cfg(all(target_os = "wasi", feature = "wasip2"))]
#[macro_export]
macro_rules! command {
    ($run:path) => {
        struct Command;

        impl $crate::__private::Guest for Command {
            fn run() -> ::core::result::Result<(), ()> {
                $crate::__private::run_main($run)
            }
        }

        $crate::__private::export!(Command);
    };
}
