//! The report of one library, as a table or as JSON. Ratios are made of minima.
#![expect(
    clippy::cast_precision_loss,
    reason = "counts of skills and calls are far below the precision of a float"
)]

use serde_json::{Value, json};

use crate::contender::PI;
use crate::samples::Samples;
use crate::system_calls::Counts;
use crate::table::{self, number};

/// The calls that a walk can choose between; the rest is in the sum.
const SHOWN_CALLS: [&str; 9] = [
    "openat",
    "openat2",
    "read",
    "pread64",
    "close",
    "statx",
    "fstat",
    "newfstatat",
    "getdents64",
];

/// All contenders on one library.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) n_skills: usize,
    pub(crate) rows: Vec<Row>,
}

/// One contender's results, or why it has none.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The name of the row that is this one's floor.
    pub(crate) floor: &'static str,
    pub(crate) samples: Result<Samples, String>,
    /// The times of processors; none for a program of its own.
    pub(crate) processors: Samples,
    pub(crate) calls: Result<Counts, String>,
}

impl Report {
    pub(crate) fn print(&self) {
        println!("{} skills, warm page cache, two threads", self.n_skills);
        let header = [
            "",
            "runs",
            "min ms",
            "median ms",
            "µs/skill",
            "× floor",
            "processors µs/skill",
            "× floor",
            "pi ÷ it",
        ];
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| self.time_cells(row)).collect();
        table::print(&header, &rows);

        self.print_calls();
    }

    fn print_calls(&self) {
        let counted = self.rows.iter().filter_map(|row| self.call_cells(row));
        let counted: Vec<Vec<String>> = counted.collect();
        if counted.is_empty() {
            // The floors are never without numbers, so the first row says why there is no count.
            let reason = self.rows.first().and_then(|row| row.calls.as_ref().err());
            println!(
                "no system calls: {}\n",
                reason.map_or("no rows", String::as_str)
            );
            return;
        }
        println!("{} skills, system calls of one run", self.n_skills);
        let columns = [""].into_iter().chain(SHOWN_CALLS);
        let header: Vec<&str> = columns.chain(["all", "per skill"]).collect();
        table::print(&header, &counted);
    }

    pub(crate) fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let samples = row.samples.as_ref();
            json!({
                "name": row.name,
                "runs": samples.map_or(0, Samples::len),
                "min_ms": row.minimum_ms(),
                "median_ms": samples.ok().and_then(Samples::median_ms),
                "us_per_skill": self.us_per_skill(row.minimum_ms()),
                "floor": row.floor,
                "ratio_to_floor": self.ratio_to_floor(row),
                "processors_us_per_skill": self.us_per_skill(row.processors.minimum_ms()),
                "processors_ratio_to_floor": self.processors_ratio(row),
                "pi_ratio": self.pi_ratio(row),
                "system_calls": row.calls.as_ref().ok(),
                "error": samples.err(),
            })
        });
        json!({ "skills": self.n_skills, "rows": rows.collect::<Vec<_>>() })
    }

    fn time_cells(&self, row: &Row) -> Vec<String> {
        match &row.samples {
            Err(reason) => vec![row.name.to_owned(), reason.clone()],
            Ok(samples) => vec![
                row.name.to_owned(),
                samples.len().to_string(),
                number(samples.minimum_ms()),
                number(samples.median_ms()),
                number(self.us_per_skill(row.minimum_ms())),
                number(self.ratio_to_floor(row)),
                number(self.us_per_skill(row.processors.minimum_ms())),
                number(self.processors_ratio(row)),
                number(self.pi_ratio(row)),
            ],
        }
    }

    fn call_cells(&self, row: &Row) -> Option<Vec<String>> {
        let counts = row.calls.as_ref().ok()?;
        let all: i64 = counts.values().sum();
        let per_skill = all as f64 / self.n_skills as f64;
        let mut cells = vec![row.name.to_owned()];
        cells.extend(SHOWN_CALLS.map(|name| counts.get(name).unwrap_or(&0).to_string()));
        cells.extend([all.to_string(), number(Some(per_skill))]);
        Some(cells)
    }

    fn named(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    fn us_per_skill(&self, ms: Option<f64>) -> Option<f64> {
        Some(ms? * 1e3 / self.n_skills as f64)
    }

    fn ratio_to_floor(&self, row: &Row) -> Option<f64> {
        Some(row.minimum_ms()? / self.named(row.floor)?.minimum_ms()?)
    }

    fn processors_ratio(&self, row: &Row) -> Option<f64> {
        let floor = self.named(row.floor)?.processors.minimum_ms()?;
        Some(row.processors.minimum_ms()? / floor)
    }

    /// Returns the factor by which pi takes longer.
    fn pi_ratio(&self, row: &Row) -> Option<f64> {
        Some(self.named(PI)?.minimum_ms()? / row.minimum_ms()?)
    }
}

impl Row {
    fn minimum_ms(&self) -> Option<f64> {
        self.samples.as_ref().ok().and_then(Samples::minimum_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn row(name: &'static str, ms: u64) -> Row {
        let (mut samples, mut processors) = (Samples::default(), Samples::default());
        samples.add(Duration::from_millis(ms));
        processors.add(Duration::from_millis(2 * ms - 1));
        Row {
            name,
            floor: "floor",
            samples: Ok(samples),
            processors,
            calls: Ok([("openat".to_owned(), 30), ("exit".to_owned(), 20)].into()),
        }
    }

    fn report() -> Report {
        Report {
            n_skills: 10,
            rows: vec![row("floor", 2), row("ours", 3), row(PI, 90)],
        }
    }

    #[test]
    fn ratios_are_to_the_floor_and_to_the_peer() {
        let report = report();
        let cells = report.time_cells(&report.rows[1]);
        assert_eq!(
            cells,
            [
                "ours", "1", "3.00", "3.00", "300", "1.50", "500", "1.67", "30.0"
            ]
        );
    }

    #[test]
    fn calls_that_have_no_column_are_in_the_sum() {
        let report = report();
        let cells = report.call_cells(&report.rows[0]).unwrap();
        assert_eq!(cells.first().unwrap(), "floor");
        assert_eq!(cells[1], "30");
        assert_eq!(cells[cells.len() - 2..], ["50", "5.00"]);
    }

    #[test]
    fn who_failed_says_why_in_both_forms() {
        let mut report = report();
        report.rows[1].samples = Err("not wired".to_owned());
        assert_eq!(report.time_cells(&report.rows[1]), ["ours", "not wired"]);
        assert_eq!(report.to_json()["rows"][1]["error"], "not wired");
    }
}
