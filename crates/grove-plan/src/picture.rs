//! A plan as people see it: a line for the flow, and a picture for documents.

use std::fmt::Write as _;

use crate::ids::NodeId;
use crate::plan::{Node, Plan, Work};

impl Plan {
    /// Returns the children in a line, step by step: `1 scout → 2.0 worker + 2.1 worker → 3 judge`.
    pub fn flow(&self) -> String {
        let mut steps: Vec<(Vec<NodeId>, Vec<String>)> = Vec::new();
        for node in self.nodes.iter().filter(|node| node.reviews.is_none()) {
            let name = format!("{} {}", node.id, name_of(node));
            match steps.last_mut() {
                Some((after, names)) if *after == node.after => names.push(name),
                _ => steps.push((node.after.clone(), vec![name])),
            }
        }
        let steps: Vec<String> = steps.iter().map(|(_, names)| names.join(" + ")).collect();
        steps.join(" → ")
    }

    /// Returns the graph in the language of Mermaid.
    pub fn mermaid(&self) -> String {
        let mut text = "flowchart TD\n".to_owned();
        for (at, node) in self.nodes.iter().enumerate() {
            let label = escaped(&format!("{} {}", node.id, name_of(node)));
            let _ = writeln!(text, "  n{at}[\"{label}\"]");
        }
        let at = |id: &NodeId| self.nodes.iter().position(|node| node.id == *id);
        for (to, node) in self.nodes.iter().enumerate() {
            for from in node.after.iter().filter_map(at) {
                let _ = writeln!(text, "  n{from} --> n{to}");
            }
            if let Some(from) = node.reviews.as_ref().and_then(at) {
                let _ = writeln!(text, "  n{from} -. review .-> n{to}");
            }
        }
        text
    }
}

fn name_of(node: &Node) -> String {
    match &node.work {
        Work::Child(child) => child.label.as_ref().unwrap_or(&child.agent).clone(),
        // A label is written for each item.
        Work::FanOut(list) => {
            let (agent, most) = (&list.child.agent, list.max_items);
            match &list.from {
                Some(from) => format!("{agent} for each of {from}{}, at most {most}", list.path),
                None => format!("{agent} for each of at most {most} items"),
            }
        }
    }
}

/// Escapes a label in quotes: each character that may have a meaning there is written as its number.
fn escaped(label: &str) -> String {
    let mut text = String::new();
    for c in label.chars() {
        if c.is_alphanumeric() || " ._-".contains(c) {
            text.push(c);
        } else {
            let _ = write!(text, "#{};", u32::from(c));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use grove_spec::Digest;

    use super::*;
    use crate::plan::Child;

    #[test]
    fn a_plan_is_a_line_and_a_picture_in_which_names_mean_nothing() {
        let node = |id: &str, after: &[&str], label: &str| {
            let mut child = Child::new("worker", Digest::of(b"told"), "p/m");
            child.label = (!label.is_empty()).then(|| label.to_owned());
            Node {
                id: NodeId::from(id),
                after: after.iter().map(|&id| NodeId::from(id)).collect(),
                group: None,
                reviews: None,
                work: Work::Child(Box::new(child)),
            }
        };
        let plan = Plan::of(vec![
            node("1", &[], ""),
            node("2.0", &["1"], "a\"]; click n0 \"x"),
            node("2.1", &["1"], ""),
            node("3", &["2.0", "2.1"], ""),
            Node {
                reviews: Some(NodeId::step(3)),
                ..node("3.review", &[], "judge")
            },
        ]);
        let flow = plan.flow();
        assert!(flow.starts_with("1 worker → 2.0 a") && flow.ends_with("+ 2.1 worker → 3 worker"));
        let picture = plan.mermaid();
        assert!(picture.contains("n0 --> n1\n  n0 --> n2\n"), "{picture}");
        assert!(picture.contains("n3 -. review .-> n4"), "{picture}");
        assert!(
            picture.contains("a#34;#93;#59; click n0 #34;x\"]"),
            "{picture}"
        );
    }
}
