//! A tree writes where it may and nowhere else, by any path.

use grove_exec::{Keeper, KeeperOrder, ProgramExit, Sandbox, StopTokens, write_rules_work};

#[tokio::test]
async fn a_tree_writes_only_where_it_may() {
    assert!(
        write_rules_work(),
        "this kernel has no write rules: nothing can be shown"
    );
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
    for place in [&inside, &outside] {
        std::fs::create_dir(place).unwrap();
        std::fs::write(place.join("file"), "before").unwrap();
    }
    let line = "echo x > ../outside/new; echo x > ../outside/file; true > ../outside/file; rm ../outside/file; \
                mv ../outside/file ../outside/moved; mkdir ../outside/folder; ln -s x ../outside/link; \
                ln ../outside/file ../outside/hard; mv ../outside/file here; \
                echo x > inside; echo x >> file; cat ../outside/file > /dev/null";
    let keeper = Keeper::new(env!("CARGO_BIN_EXE_grove-test-keeper").into(), &[]).unwrap();
    let order = KeeperOrder {
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        sandbox: Some(Sandbox::writing_to(vec![inside.clone()])),
        ..KeeperOrder::shell(line, inside.clone(), "r/1/1")
    };
    let end = keeper
        .run(&order, &StopTokens::default(), |_| {})
        .await
        .unwrap();
    assert_eq!(
        end.report.exit,
        ProgramExit::Code(0),
        "reading is free: {}",
        end.output.text()
    );
    let entries = std::fs::read_dir(&outside).unwrap().count();
    assert_eq!(
        (
            entries,
            std::fs::read_to_string(outside.join("file"))
                .unwrap()
                .as_str()
        ),
        (1, "before")
    );
    assert_eq!(
        std::fs::read_to_string(inside.join("inside")).unwrap(),
        "x\n"
    );
    assert_eq!(
        std::fs::read_to_string(inside.join("file")).unwrap(),
        "beforex\n"
    );
}
