/** Tools with which one agent creates and connects others: spawn, channel, wire, status, send. Only the session that leads the group may use them. */
import { createAgent, ToolError, type Runtime, type ToolContext, type Toolset } from "haft";
import type { Model } from "haft/model";
import type { Channels, Triggers } from "haft/triggers";

export interface GroupOptions {
  /** The session that may use these tools. */
  readonly leader: string;
  readonly channels: Channels;
  readonly triggers: Triggers;
  /** Called when an agent is spawned, because these tools are part of the runtime that it returns. */
  readonly runtime: () => Runtime;
  readonly modelOf: (name: string) => Model;
  readonly onSaid: (name: string, text: string) => void;
}

const text = { type: "string", minLength: 1, maxLength: 2_000 } as const;
const object = (...names: readonly string[]) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, text])),
  required: names,
  additionalProperties: false,
});
/** For the loops of all other sessions: hides these tools from their models and refuses their calls. */
export const WITHOUT_GROUP = { deny: ["group::*"] } as const;

export function groupToolset({ leader, channels, triggers, runtime, modelOf, onSaid }: GroupOptions): Toolset {
  const nodes = new Map<string, ReturnType<typeof createAgent>>();
  const nodeOf = (name: string) => {
    const node = nodes.get(name);
    if (node === undefined)
      throw new ToolError("not_found", `The group has no ${name}.`, { hint: `It has ${[...nodes.keys()].join(", ")}.` });
    return node;
  };
  const tool = (name: string, description: string, names: readonly string[], run: (input: Record<string, string>) => unknown) => ({
    name,
    description,
    inputSchema: object(...names),
    effects: { writes: ["group"] },
    execute: (input: Record<string, string>, { sessionId }: ToolContext) => {
      if (sessionId !== leader) throw new ToolError("permission_denied", "Only the session that leads the group may do this.");
      return run(input);
    },
  });
  const tools = [
    tool("spawn", "Adds an agent to the group, with a first task.", ["name", "task"], async ({ name = "", task = "" }) => {
      if (nodes.has(name)) throw new ToolError("duplicate", `The group has a ${name} already.`);
      const session = runtime().session(`${leader}/${name}`);
      const onResult = ({ text: said }: { readonly text: string }): void => onSaid(name, said);
      const agent = createAgent({ session, model: modelOf(name), triggers, allow: WITHOUT_GROUP, onResult });
      nodes.set(name, agent);
      agent.start();
      await agent.send(task, { sender: leader });
      return { name };
    }),
    tool("channel", "Makes a channel of the group. Others reach it once it is wired to them.", ["channel"], ({ channel = "" }) => {
      channels.open(channel, { sessionId: leader, kind: "broadcast" });
      return { channel };
    }),
    tool("wire", "Gives an agent a channel: it can write there, and is woken by what others write.", ["channel", "name"], async (input) => {
      const { channel = "", name = "" } = input;
      const { session } = nodeOf(name);
      channels.give(channels.get(channel, leader), session.id);
      await triggers.of(session).add({ type: "channel", channel, name: channel, prompt: "{sender} writes on {channel}: {content}" });
      return { channel, name };
    }),
    tool("status", "Lists the agents of the group and what each is doing.", [], () =>
      [...nodes].map(([name, { state }]) => ({ name, state })),
    ),
    tool("send", "Says something to one agent of the group.", ["name", "message"], async ({ name = "", message = "" }) => {
      await nodeOf(name).send(message, { sender: leader });
      return { name };
    }),
  ];
  return {
    name: "group",
    description: "Other agents: spawned, wired and asked by the one that leads them.",
    tools,
  };
}
