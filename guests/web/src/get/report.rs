//! Figures of a transfer, for `--write-out`.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::failure::Failure;

/// What happened during one transfer.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) started: Instant,
    pub(crate) url: String,
    /// The URL at the end of all redirects.
    pub(crate) effective: String,
    pub(crate) method: String,
    /// 0.9 or 3.
    pub(crate) version: &'static str,
    pub(crate) status: Option<u16>,
    pub(crate) content_type: Option<String>,
    pub(crate) file: Option<String>,
    /// Bytes of the body that came, and of the one that was sent.
    pub(crate) downloaded: u64,
    pub(crate) uploaded: u64,
    pub(crate) redirects: u32,
    pub(crate) connects: u32,
    pub(crate) retries: u32,
    /// Of the connection that this transfer made; absent if it used one that was there.
    pub(crate) resolved: Option<Instant>,
    pub(crate) connected: Option<Instant>,
    pub(crate) requested: Option<Instant>,
    pub(crate) first_byte: Option<Instant>,
    pub(crate) ended: Option<Instant>,
    pub(crate) remote: Option<SocketAddr>,
    pub(crate) resumed: Option<bool>,
    /// Whether the request went out with the first packet, and was taken.
    pub(crate) early_data: Option<bool>,
    pub(crate) connection: Option<sandquic::ConnectionStats>,
}

impl Report {
    pub(crate) fn new(url: String, method: String, version: &'static str) -> Self {
        Self {
            started: Instant::now(),
            effective: url.clone(),
            url,
            method,
            version,
            status: None,
            content_type: None,
            file: None,
            downloaded: 0,
            uploaded: 0,
            redirects: 0,
            connects: 0,
            retries: 0,
            resolved: None,
            connected: None,
            requested: None,
            first_byte: None,
            ended: None,
            remote: None,
            resumed: None,
            early_data: None,
            connection: None,
        }
    }

    /// The text of `--write-out`.
    pub(crate) fn text(&self, format: &str, failure: Option<&Failure>) -> String {
        let figures = self.figures(failure);
        if matches!(format, "json" | "%{json}") {
            return format!("{}\n", Value::Object(figures));
        }
        fill(format, &figures)
    }

    /// curl's names where curl has the figure. Times are in seconds from the start of the transfer.
    fn figures(&self, failure: Option<&Failure>) -> Map<String, Value> {
        let seconds = |at: Option<Instant>| {
            let time = at.map_or(Duration::ZERO, |at| at.saturating_duration_since(self.started));
            json!(time.as_micros() as f64 / 1e6)
        };
        let ended = self.ended.unwrap_or_else(Instant::now);
        let total = ended.saturating_duration_since(self.started).as_secs_f64().max(1e-6);
        let path = self.connection.as_ref().map(|stats| &stats.path);
        let figures = json!({
            "url": self.url,
            "url_effective": self.effective,
            "method": self.method,
            "http_version": self.version,
            "http_code": self.status.unwrap_or(0),
            "response_code": self.status.unwrap_or(0),
            "content_type": self.content_type,
            "filename_effective": self.file,
            "size_download": self.downloaded,
            "size_upload": self.uploaded,
            "speed_download": (self.downloaded as f64 / total) as u64,
            "speed_upload": (self.uploaded as f64 / total) as u64,
            "num_redirects": self.redirects,
            "num_connects": self.connects,
            "num_retries": self.retries,
            "remote_ip": self.remote.map(|remote| remote.ip().to_string()),
            "remote_port": self.remote.map(|remote| remote.port()),
            "time_namelookup": seconds(self.resolved),
            "time_connect": seconds(self.connected),
            "time_appconnect": seconds(self.connected),
            "time_pretransfer": seconds(self.requested),
            "time_starttransfer": seconds(self.first_byte),
            "time_total": seconds(Some(ended)),
            "session_resumed": self.resumed,
            "early_data": self.early_data,
            "quic_rtt": path.map(|path| path.rtt.as_micros() as f64 / 1e6),
            "quic_packets_sent": path.map(|path| path.sent_packets),
            "quic_packets_lost": path.map(|path| path.lost_packets),
            "quic_bytes_retransmitted": path.map(|path| path.lost_bytes),
            "exitcode": failure.map_or(0, |failure| failure.status),
            "errormsg": failure.map(|failure| failure.message.clone()),
        });
        match figures {
            Value::Object(figures) => figures,
            _ => Map::new(),
        }
    }
}

/// Puts figures in place of `%{name}`, as curl does: `%%`, `\n`, `\r` and `\t` are what they seem; an unknown name is nothing.
fn fill(format: &str, figures: &Map<String, Value>) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find(['%', '\\']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((name, behind)) = rest.strip_prefix("%{").and_then(|rest| rest.split_once('}')) {
            match figures.get(name) {
                Some(Value::String(value)) => text.push_str(value),
                Some(Value::Null) | None => {}
                Some(value) => text.push_str(&value.to_string()),
            }
            rest = behind;
            continue;
        }
        let (known, by) = [("%%", "%"), ("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t"), ("\\\\", "\\")]
            .into_iter()
            .find(|(known, _)| rest.starts_with(known))
            .unwrap_or((&rest[..1], &rest[..1]));
        text.push_str(by);
        rest = &rest[known.len()..];
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::super::failure::status;
    use super::*;

    #[test]
    fn figures_bear_the_names_of_curl() {
        let mut report = Report::new("https://a/".into(), "GET".into(), "3");
        report.status = Some(206);
        report.downloaded = 5;
        report.first_byte = Some(report.started + Duration::from_millis(1500));
        report.ended = Some(report.started + Duration::from_secs(2));
        let failure = Failure::new(status::PARTIAL, "cut \"off\"\n");
        let text = report.text("json", Some(&failure));
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&read["http_code"], &read["size_download"]), (&json!(206), &json!(5)));
        assert_eq!((&read["time_starttransfer"], &read["time_total"]), (&json!(1.5), &json!(2.0)));
        assert_eq!((&read["exitcode"], &read["errormsg"]), (&json!(18), &json!("cut \"off\" ")));
        let text =
            report.text("%{http_code} %{size_download}\\n100%%\\t%{nothing}%{remote_ip}|%x\\y%{", None);
        assert_eq!(text, "206 5\n100%\t|%x\\y%{");
    }
}
