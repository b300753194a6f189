/** Cached answers that name files, which may be pruned meanwhile. */
import { expect, test } from "vitest";
import { readOnly } from "../../src/core/resources/effects.ts";
import { ToolOutput } from "../../src/core/content.ts";
import type { CacheScope } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { temporaryFile } from "../store/temporary-file.ts";

const IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const scopes: readonly CacheScope[] = ["session", "runtime", "persistent"];

test.each(scopes.flatMap((scope) => [true, false].map((isContent) => [scope, isContent] as const)))(
  "a cached answer of the scope %s with a pruned file is not used: the call runs again (as content: %s)",
  async (scope, isContent) => {
    let asked = 0;
    const draw = {
      name: "draw",
      description: "Draws.",
      inputSchema: true,
      effects: readOnly("pictures"),
      cache: { scope },
      execute: () => {
        asked++;
        return isContent
          ? new ToolOutput({ content: [{ type: "image", mediaType: "image/png", data: IMAGE }] })
          : { picture: `data:image/png;base64,${IMAGE}` };
      },
    };
    const store = sqliteStore({ path: temporaryFile() });
    await using runtime = createRuntime({ tools: [draw], store, artifacts: store.artifacts });
    const session = runtime.session("s");
    const first = await session.execute({ name: "draw" });
    const [id = ""] = /(?<=artifact:)[0-9a-f]{64}/u.exec(JSON.stringify(first)) ?? [];
    const again = async () => session.execute({ name: "draw" });
    expect((await again()).origin).toBe("cache");
    expect(await store.artifacts.prune({ before: Date.now() + 60_000 })).toBe(1);
    expect((await again()).origin).toBe("live");
    expect(asked).toBe(2);
    expect(await store.artifacts.get(id)).toBeDefined();
    expect((await again()).origin).toBe("cache");
  },
);
