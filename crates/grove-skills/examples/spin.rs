use grove_skills::{Environment, Library, Request, View};
#[global_allocator]
static A: mimalloc::MiMalloc = mimalloc::MiMalloc;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: usize = a[3].parse().unwrap();
    let lib = |c: bool| Library::new(Environment { cache: c.then(|| "/tmp/spin-cache".into()), ..Environment::for_home("/nonexistent".into(), "/nonexistent".into()) }, Request { view: View::Folders(vec![a[2].clone().into()]), all: true, names: None });
    let mut keep = lib(true); keep.load(); keep.save_cache();
    let t = std::time::Instant::now();
    let mut best = f64::MAX;
    let mut kept = Vec::new();
    for _ in 0..n {
        let s = std::time::Instant::now();
        match a[1].as_str() { "cold" => { let mut l = lib(false); l.load(); kept.push(l); } "warm" => { let mut l = lib(true); l.load(); kept.push(l);} _ => { keep.load(); } }
        best = best.min(s.elapsed().as_secs_f64());
        kept.clear();
    }
    println!("{} avg {:.2} ms best {:.2}", a[1], t.elapsed().as_secs_f64()*1000.0/n as f64, best*1000.0);
}
