import { expect, test } from "vitest";
import { renameFile } from "../../../src/core/system/rename-file.ts";

const clock = {
  now: () => 0,
  wallTime: () => 0,
  timer(fire: () => void): () => void {
    queueMicrotask(fire);
    return () => undefined;
  },
};

/** A file system on which another program closes the file after so many tries. */
function busyFor(tries: number, code: string): { readonly move: () => void; readonly asked: () => number } {
  let asked = 0;
  const move = (): void => {
    if (++asked <= tries) throw Object.assign(new Error(`${code}: rename`), { code });
  };
  return { move, asked: () => asked };
}

test.each(["EPERM", "EACCES", "EBUSY"])("on Windows a rename waits while another program has the file open: %s", async (code) => {
  const { move, asked } = busyFor(2, code);

  await renameFile("new", "old", { platform: "win32", move, clock });

  expect(asked()).toBe(3);
});

test("a file that stays open ends the wait with the system's error", async () => {
  const { move, asked } = busyFor(Infinity, "EPERM");

  await expect(renameFile("new", "old", { platform: "win32", move, clock })).rejects.toMatchObject({ code: "EPERM" });

  expect(asked()).toBe(50);
});

test.each([
  ["win32", "ENOSPC"],
  ["linux", "EACCES"],
])("other errors are thrown at once: %s, %s", async (platform, code) => {
  const { move, asked } = busyFor(1, code);

  await expect(renameFile("new", "old", { platform, move })).rejects.toMatchObject({ code });

  expect(asked()).toBe(1);
});
