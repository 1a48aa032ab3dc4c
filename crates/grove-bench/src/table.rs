//! Tables of text for people: the first column to the left, numbers to the right.

/// Prints `rows` under `header`, each column as wide as its widest cell.
pub(crate) fn print(header: &[&str], rows: &[Vec<String>]) {
    let header: Vec<String> = header.iter().map(|&cell| cell.to_owned()).collect();
    let widths: Vec<usize> = (0..header.len())
        .map(|column| {
            let cells = rows
                .iter()
                .chain([&header])
                .filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    for row in [&header].into_iter().chain(rows) {
        println!("{}", line(row, &widths).trim_end());
    }
    println!();
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).enumerate();
    cells
        .map(|(column, (cell, width))| match column {
            0 => format!("  {cell:<width$}"),
            _ => format!("  {cell:>width$}"),
        })
        .collect()
}

/// A number with as many decimals as help, or a dash.
pub(crate) fn number(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value >= 100.0 => format!("{value:.0}"),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let shown: Vec<String> = [Some(0.154), Some(22.04), Some(401.2), None]
            .map(number)
            .into();
        assert_eq!(shown, ["0.15", "22.0", "401", "–"]);
    }

    #[test]
    fn columns_are_aligned() {
        let row = ["a", "1"].map(str::to_owned);
        assert_eq!(line(&row, &[3, 4]), "  a       1");
    }
}
