import { hash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { folderArtifacts } from "../../src/store/folder-artifacts.ts";
import { temporaryFile } from "./temporary-file.ts";

const HAS_PIPES = spawnSync("mkfifo", ["--version"]).error === undefined;
const ID = hash("sha256", "hi");

function artifactsIn(folder: string) {
  return folderArtifacts({ path: folder });
}

test.skipIf(!HAS_PIPES)("J06 a pipe (needs mkfifo) at the path of an artifact is ignored, and reading does not block", async () => {
  const folder = dirname(temporaryFile());
  spawnSync("mkfifo", [join(folder, ID)]);

  expect(await artifactsIn(folder).get(ID)).toBeUndefined();
});

test.skipIf(!HAS_PIPES)(
  "J06 a pipe (needs mkfifo) or a gigabyte in place of the type file leaves the artifact's bytes readable",
  async () => {
    const folder = dirname(temporaryFile());
    writeFileSync(join(folder, ID), "hi");
    const found = { id: ID, mediaType: "application/octet-stream", data: Buffer.from("hi").toString("base64") };
    spawnSync("mkfifo", [join(folder, `${ID}.type`)]);
    expect(await artifactsIn(folder).get(ID)).toEqual(found);

    spawnSync("rm", [join(folder, `${ID}.type`)]);
    writeFileSync(join(folder, `${ID}.type`), "");
    truncateSync(join(folder, `${ID}.type`), 1024 ** 3);
    expect(await artifactsIn(folder).get(ID)).toEqual(found);
  },
);
