/**
 * Writes haft.schema.json, the JSON Schema of configuration files for editors, from the tables of docs/reference/configuration.md; `npm run docs`
 * runs it. A test holds those tables equal to the keys that the readers of a configuration know.
 */
import { readFileSync, writeFileSync } from "node:fs";

type Schema = boolean | { readonly [keyword: string]: unknown };

interface Row {
  readonly key: string;
  readonly type: string;
  readonly initial: string;
  readonly says: string;
}

/** Types of the page, in words of JSON Schema. A range such as `1 to 100` is a number. */
const TYPES: ReadonlyMap<string, Schema> = new Map<string, Schema>([
  ["string", { type: "string" }],
  ["boolean", { type: "boolean" }],
  ["integer", { type: "integer", minimum: 0 }],
  ["number", { type: "number", minimum: 0 }],
  ["object", { type: "object" }],
  ["any", true],
  ["array of strings", { type: "array", items: { type: "string" } }],
  ["array of objects", { type: "array", items: { type: "object" } }],
  ["array of integers", { type: "array", items: { type: "integer" } }],
  ["object of strings", { type: "object", additionalProperties: { type: "string" } }],
  ["array", { type: "array" }],
]);

/** Toolsets whose tables have other headings than their own, or none. */
const TOOLSET_TABLES: Readonly<Record<string, readonly string[]>> = {
  files: ['`type = "files"`'],
  file: ['`type = "file"`'],
  inline: ['`type = "inline"`'],
  chains: ['`type = "chains"`'],
  delegates: ['`type = "delegates"`'],
  descriptors: ['`type = "descriptors"`'],
  openapi: ['`type = "openapi"`'],
  module: ['`type = "module"`'],
  triggers: ['`type = "triggers"`'],
  channels: [],
  shell: ['`type = "shell"`'],
  python: ['`type = "shell"`', '`type = "python"`'],
  command: ['`type = "command"`'],
  http: ['`type = "http"`'],
  program: ['`type = "program"`'],
  web: ['`type = "web"`'],
  skills: ['`type = "skills"`'],
  notebook: ['`type = "notebook"`'],
  ask: [],
  memory: ['`type = "memory"`'],
  scratchpad: [],
};

/** Tables that say nothing new about a schema: words of other systems, and settings that are read as they stand. */
const NOT_READ = ["Other words", "`[tools]`"];

/** Tables whose keys stand in many schemas: each is written once. */
const SHARED: ReadonlySet<string> = new Set(["Every toolset", "`[engines]`", '`type = "shell"`', '`type = "mcp"`']);

class Page {
  readonly definitions: Record<string, Schema> = {};
  readonly #tables = new Map<string, readonly Row[]>();
  readonly #used = new Set<string>(NOT_READ);

  constructor(text: string) {
    for (const part of text.split(/^#+ /mu).slice(1)) {
      const heading = part.slice(0, part.indexOf("\n"));
      const lines = part.split("\n").filter((line) => line.startsWith("|"));
      if (lines.length === 0) continue;
      let columns: readonly string[] = [];
      const rows: Row[] = [];
      for (const line of lines) {
        const cells = line
          .slice(1, -1)
          .split(/(?<!\\)\|/u)
          .map((cell) => cell.trim());
        if (cells[0] === "key" && rows.length > 0) break; // further tables describe what lies inside
        if (cells[0] === "key") columns = cells;
        if (!/^`[^`]+`$/u.test(cells[0] ?? "")) continue;
        const cell = (name: string): string => cells[columns.indexOf(name)] ?? "";
        rows.push({
          key: cell("key").replaceAll("`", ""),
          type: cell("type"),
          initial: cell("default"),
          says: cell("says") || cell("holds"),
        });
      }
      if (rows.length > 0) this.#tables.set(heading, rows);
    }
  }

  rows(heading: string): readonly Row[] {
    const rows = this.#tables.get(heading);
    if (rows === undefined) throw new Error(`There is no table below ${JSON.stringify(heading)}.`);
    this.#used.add(heading);
    return rows;
  }

  /** An object with the keys of tables, and of no others. */
  object(headings: readonly string[], known: Readonly<Record<string, Schema>> = {}, open = false): Schema {
    const rows = headings.flatMap((heading) => this.rows(heading).map((row) => ({ ...row, heading })));
    const properties = Object.fromEntries(rows.map((row) => [row.key, this.#property(row, known[row.key])]));
    const required = rows.filter(({ initial }) => initial === "required").map(({ key }) => key);
    return {
      type: "object",
      properties,
      ...(required.length === 0 ? {} : { required: [...new Set(required)] }),
      ...(open ? {} : { additionalProperties: false }),
    };
  }

  /** A schema under a name, to be referred to. */
  define(name: string, schema: Schema): Schema {
    this.definitions[name] = schema;
    return { $ref: `#/definitions/${name}` };
  }

  #property(row: Row & { readonly heading: string }, known: Schema | undefined): Schema {
    if (known !== undefined || !SHARED.has(row.heading)) return propertyOf(row, known);
    return this.define(`${row.heading.replaceAll(/[^A-Za-z]+/gu, "-")}.${row.key}`, propertyOf(row, undefined));
  }

  get unused(): readonly string[] {
    return [...this.#tables.keys()].filter((heading) => !this.#used.has(heading));
  }
}

function propertyOf({ type, initial, says }: Row, known: Schema | undefined): Schema {
  const schema = known ?? typeOf(type);
  const value = /^`(.+)`$/u.exec(initial)?.[1];
  const rest = typeof schema === "boolean" ? {} : schema;
  if ("$ref" in rest) return rest; // what stands beside it is not read
  return { description: plain(says), ...rest, ...(value === undefined ? {} : defaultOf(value)) };
}

/** Of Markdown, links and marks of code. */
function plain(text: string): string {
  return text.replaceAll(/\[([^\]]+)\]\([^)]*\)/gu, "$1").replaceAll(/`|\*\*/gu, "");
}

function defaultOf(text: string): { readonly default?: unknown } {
  try {
    return { default: JSON.parse(text) as unknown };
  } catch {
    return {}; // a word of the page, such as the name of another key
  }
}

function typeOf(text: string): Schema {
  const range = /^(-?[\d,]+) to ([\d,]+)$/u.exec(text);
  if (range !== null) return { type: "number", minimum: numberOf(range[1]), maximum: numberOf(range[2]) };
  const least = /^number ≥ (\d+)$/u.exec(text);
  if (least !== null) return { type: "number", minimum: numberOf(least[1]) };
  if (text === "") return true;
  const schemas = text.split(" or ").map((each) => TYPES.get(each));
  if (schemas.includes(undefined)) throw new Error(`The type ${JSON.stringify(text)} has no schema here.`);
  return schemas.length === 1 ? (schemas[0] ?? true) : { anyOf: schemas };
}

function numberOf(text: string | undefined): number {
  return Number(text?.replaceAll(",", ""));
}

/** @param text docs/reference/configuration.md */
export function configSchema(text: string): Schema {
  const page = new Page(text);
  const or = (...schemas: readonly Schema[]): Schema => ({ anyOf: schemas });
  const listOf = (items: Schema): Schema => ({ type: "array", items });
  const byName = (additionalProperties: Schema): Schema => ({ type: "object", additionalProperties });
  const prices = page.object(["`[model.prices]`"]);
  const model = page.define(
    "model",
    page.object(["`[model]`"], { textFormat: or({ type: "string" }, page.object(["`[model.textFormat]`"])), prices }),
  );
  const anyModel = or({ type: "string" }, model);
  const faults = page.define("faults", listOf(page.object(["A table of `faults`"])));
  const limit: Schema = { type: "object", properties: { soft: { type: "number" }, hard: { type: "number" } }, additionalProperties: false };
  const budget = page.object(["`[loop.budget]`"], Object.fromEntries(page.rows("`[loop.budget]`").map(({ key }) => [key, limit])));
  const simulation = page.object(["`[simulation]`"], { model: anyModel, faults });
  const delegate = page.object(["A delegate", "`[loop]`"], { model: anyModel, budget });
  const toolset = anyToolset(page, { or, listOf, byName, delegate });
  const schema = page.object(["Top level"], {
    runtime: page.object(["`[runtime]`"]),
    retry: page.object(["`[retry]`"]),
    circuit: page.object(["`[circuit]`"]),
    permission: page.object(["`[permission]`"]),
    approval: page.object(["`[approval]`"]),
    cache: page.object(["`[cache]`"]),
    jobs: page.object(["`[jobs]`"]),
    inputLimits: page.object(["`[inputLimits]`"]),
    store: page.object(["`[store]`"]),
    serve: page.object(["`[serve]`"], {
      auth: page.object(["`[serve.auth]`"], {
        issuers: listOf(page.object(["A table of `issuers`"], { scopes: byName(listOf({ type: "string" })) })),
      }),
      rules: listOf(page.object(["A table of `rules`"])),
      limits: page.object(["`[serve.limits]`"]),
      logins: page.object(["`[serve.logins]`"]),
    }),
    worker: page.object(["`[worker]`"]),
    webhooks: listOf(page.object(["`[[webhooks]]`"])),
    model,
    loop: page.object(["`[loop]`"], { budget }),
    telemetry: page.object(["`[telemetry]`"]),
    findTools: page.object(["`[findTools]`"]),
    simulation,
    variables: page.object(["`[variables]`"]),
    extensions: { type: "array", items: { type: "string" } },
    documentation: byName({ type: "string" }),
    toolsets: byName(toolset),
    channels: listOf(page.object(["`[[channels]]`"])),
    triggers: listOf(
      or(...["timer", "schedule", "channel"].map((type) => page.object([`A trigger of \`type = "${type}"\``], { type: { const: type } }))),
    ),
    engines: byName(anyEngine(page, { or, faults, anyModel })),
    tools: or({ type: "array" }, { type: "object" }),
    mcp: byName({ type: "object" }),
  });
  if (page.unused.length > 0) throw new Error(`These tables of the page are in no schema: ${page.unused.join(", ")}.`);
  const title = "Configuration of Haft: haft.toml, haft.yaml, haft.yml and haft.json";
  const rest = typeof schema === "boolean" ? {} : schema;
  return { $schema: "http://json-schema.org/draft-07/schema#", title, ...rest, definitions: page.definitions };
}

interface Combine {
  readonly or: (...schemas: readonly Schema[]) => Schema;
  readonly listOf: (items: Schema) => Schema;
  readonly byName: (additionalProperties: Schema) => Schema;
  readonly delegate: Schema;
}

function anyToolset(page: Page, { or, listOf, byName, delegate }: Combine): Schema {
  const effects = page.define("effects", byName(or({ enum: ["pure", "readOnly", "external"] }, page.object(["A table of `effects`"]))));
  const filter = page.define("filter", page.object(["`include` and `exclude`"]));
  const apiAuth = or({ type: "array" }, page.object(["`auth` of an HTTP API"], {}, true));
  const serverAuth = page.define("serverAuth", page.object(["`auth` of a server"]));
  const tool = (type: string): Schema => page.object([`A tool of \`type = "${type}"\``], { body: true }, true);
  const known: Readonly<Record<string, Readonly<Record<string, Schema>>>> = {
    openapi: { include: filter, exclude: filter, effects, auth: apiAuth },
    mcp: { effects, auth: serverAuth },
    delegates: { delegates: byName(delegate) },
    web: { search: page.object(['The `search` of `type = "web"`']) },
    command: { tools: listOf(tool("command")) },
    http: { tools: listOf(tool("http")) },
  };
  const of = (type: string, tables: readonly string[]): Schema =>
    page.object(["Every toolset", ...tables], { type: { const: type }, ...known[type] });
  const mcp = ["A server that is started", "A server at an address"].map((table) => of("mcp", ['`type = "mcp"`', table]));
  const types = Object.entries(TOOLSET_TABLES).map(([type, tables]) => of(type, tables));
  const names = [...Object.keys(TOOLSET_TABLES), "mcp"];
  const extension: Schema = { type: "object", properties: { type: { type: "string", not: { enum: names } } }, required: ["type"] };
  return or(...types, ...mcp, extension);
}

function anyEngine(
  page: Page,
  { or, faults, anyModel }: Pick<Combine, "or"> & { readonly faults: Schema; readonly anyModel: Schema },
): Schema {
  const lmConfig = page.object(["`lm_config`"]);
  const of = (type: string, tables: readonly string[]): Schema => {
    const schema = page.object(["`[engines]`", ...tables], {
      type: { const: type },
      error_categories: faults,
      model: anyModel,
      lm_config: lmConfig,
    });
    // A model may be given in either of two ways, and so may the documents of a search.
    return typeof schema === "boolean" ? schema : { ...schema, required: ["type"] };
  };
  const tables = ["lm", "replay", "stub", "search"].map((type) => of(type, [`An engine of \`type = "${type}"\``]));
  const named = ["lm", "replay", "stub", "search", "example"];
  return or(...tables, of("example", []), {
    type: "object",
    properties: { type: { type: "string", not: { enum: named } } },
    required: ["type"],
  });
}

/** The file as text. */
export function configSchemaFile(): string {
  const page = new URL("../docs/reference/configuration.md", import.meta.url);
  return `${JSON.stringify(configSchema(readFileSync(page, "utf8")), undefined, 1)}\n`;
}

if (import.meta.main) writeFileSync(new URL("../haft.schema.json", import.meta.url), configSchemaFile());
