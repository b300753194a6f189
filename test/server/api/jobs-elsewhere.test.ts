/** Jobs that another process of the store runs or has ended. */
import { createRuntime, defineTool, pure } from "haft";
import { createClient } from "haft/client";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFile } from "../../store/temporary-file.ts";

const TOKEN = "a-token-for-the-tests";

test("the output of a job of another process, and input for it, are refused with the process that has it, or with its end", async () => {
  const path = temporaryFile();
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const pack = defineTool({
    name: "pack",
    description: "Packs.",
    effects: pure,
    mode: "background",
    async execute(_input, { output }) {
      output("box 1\n");
      await isOver;
      return null;
    },
  });
  const start = async () => {
    const runtime = createRuntime({ tools: [pack], store: sqliteStore({ path }) });
    await runtime.open();
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), limits: { graceMs: 20 } });
    const { url } = await server.listen({ port: 0 });
    onTestFinished(async () => {
      await server.close();
      await runtime.close();
    });
    return { runtime, client: createClient({ url, token: TOKEN }) };
  };
  const { runtime, client } = await start();
  const { client: other } = await start();
  const [{ callId: jobId } = { callId: "" }] = await runtime.session("s").execute([{ name: "pack" }]);
  const params = { jobId };
  await expect.poll(async () => (await client.call("getJobOutput", { params })).text).toBe("box 1\n");
  const read = () => other.call("getJobOutput", { params });
  const send = () => other.call("sendToJob", { params, body: { input: "yes" } });
  const { openedBy } = await other.call("getJob", { params });
  expect(openedBy).toMatch(/^process \d+/u);
  await expect(read()).rejects.toMatchObject({
    status: 404,
    message: expect.stringContaining(`is open in ${openedBy}, which alone has its output`),
  });
  await expect(send()).rejects.toMatchObject({
    status: 404,
    message: expect.stringContaining(`is open in ${openedBy}, which alone can receive this`),
  });
  end();
  await expect.poll(async () => (await other.call("getJob", { params })).state).toBe("done");
  await expect(read()).rejects.toMatchObject({ status: 404, message: expect.stringContaining("This process has no output of job") });
  await expect(send()).rejects.toMatchObject({ status: 404, message: expect.stringContaining("has ended") });
});
