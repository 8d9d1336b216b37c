//! Runs a server: waits until it is ready, runs the driver, and stops it.

use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hugetools_model::Root;
use nix::sys::signal::Signal;

use crate::program::{Failed, Run, RunningProgram, failed};
use crate::settings::{Ready, Server};
use crate::sys;
use crate::way::Way;

/// Timeout for a server to become ready, to end after SIGTERM, and to end after SIGKILL.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Polling interval.
const POLL_PERIOD: Duration = Duration::from_millis(10);

/// Runs the driver against a started server, and ends the server. Wall time and output are the
/// driver's; CPU time, faults and memory are the server's.
pub(crate) fn drive(
    server: &Server,
    program: &mut RunningProgram,
    sampled: Option<(&Root, u32)>,
    way: &Way,
) -> Result<Run, Failed> {
    let internal = |error: io::Error| failed(way, 125, error.to_string(), String::new());
    let driven = match wait_until_ready(server, program) {
        Ok(None) => run_driver(server, sampled).map_err(internal),
        Ok(Some(why)) => Err(failed(way, 125, why, String::new())),
        Err(error) => Err(internal(error)),
    };
    let (usage, failure) = stop(program).map_err(internal)?;
    let printed = |program: &RunningProgram| -> String {
        let output = program.output().unwrap_or_default();
        String::from_utf8_lossy(&output).into_owned() + &program.errors().unwrap_or_default()
    };
    let (mut run, driver_failure) = driven.map_err(|failed| Failed {
        output: printed(program),
        ..failed
    })?;
    if let Some(why) = driver_failure.or(failure) {
        let output = String::from_utf8_lossy(&run.output).into_owned();
        return Err(failed(way, 125, why, output));
    }
    run.usage = usage;
    Ok(run)
}

/// Returns why the server must not be started: the driver would use another server on its port.
pub(crate) fn obstacle(server: &Server) -> Option<String> {
    match server.ready {
        Ready::Port(port) if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() => Some(
            format!("port {port} is in use: stop the server that listens there"),
        ),
        _ => None,
    }
}

/// Waits until the server is ready. Returns the reason if it doesn't become ready.
fn wait_until_ready(server: &Server, program: &mut RunningProgram) -> io::Result<Option<String>> {
    let began = Instant::now();
    while began.elapsed() < TIMEOUT && !sys::is_interrupted() {
        let is_ready = match &server.ready {
            Ready::Port(port) => TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_ok(),
            Ready::Line(regex) => {
                let output = program.output()?;
                let text = String::from_utf8_lossy(&output).into_owned() + &program.errors()?;
                text.lines().any(|line| regex.is_match(line))
            }
        };
        if is_ready {
            return Ok(None);
        }
        if let Some((status, _)) = sys::wait(program.pid, false)? {
            program.status = Some(status);
            return Ok(Some(format!(
                "the server ended before it was ready ({status}); it must stay in the foreground"
            )));
        }
        sleep(POLL_PERIOD);
    }
    Ok(Some(match sys::is_interrupted() {
        true => "interrupted while waiting for the server".to_owned(),
        false => format!(
            "the server was not ready after {} seconds",
            TIMEOUT.as_secs()
        ),
    }))
}

/// Runs the driver, and samples the memory of process `sampled`. Returns its measurements, and the
/// reason if it failed.
fn run_driver(server: &Server, sampled: Option<(&Root, u32)>) -> io::Result<(Run, Option<String>)> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(&server.driver);
    let mut driver = RunningProgram::new(command, true)?;
    let mut run = driver.finish(sampled)?;
    run.output.extend(driver.errors()?.into_bytes());
    let status = driver.status.unwrap_or_default();
    let failed = !status.success();
    Ok((run, failed.then(|| format!("the driver failed ({status})"))))
}

/// Ends the server by SIGTERM, or by SIGKILL after a timeout. Returns its usage, and the reason if
/// it had already failed.
///
/// # Errors
/// The server still runs after both timeouts.
fn stop(program: &mut RunningProgram) -> io::Result<(sys::Usage, Option<String>)> {
    if program.status.is_some() {
        return Ok((sys::Usage::default(), None));
    }
    if let Some((status, usage)) = sys::wait(program.pid, false)? {
        program.status = Some(status);
        let failure = format!("the server failed during the run ({status})");
        return Ok((usage, (!status.success()).then_some(failure)));
    }
    program.kill(Signal::SIGTERM);
    let began = Instant::now();
    loop {
        if let Some((status, usage)) = sys::wait(program.pid, false)? {
            program.status = Some(status);
            return Ok((usage, None));
        }
        if began.elapsed() > 2 * TIMEOUT {
            let seconds = began.elapsed().as_secs();
            return Err(io::Error::other(format!(
                "the server (process {}) still runs {seconds} seconds after SIGTERM: stop it, as \
                 root if it has changed its user",
                program.pid
            )));
        }
        if began.elapsed() > TIMEOUT {
            program.kill(Signal::SIGKILL);
        }
        sleep(POLL_PERIOD);
    }
}
