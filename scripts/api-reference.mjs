/**
 * Writes docs/reference/api/ from the comments of what the package exports: one page for each entry of `exports`. `npm run docs` runs it.
 *
 * With `--check` nothing is written: it fails where an export has no comment, and where a page is not what the comments say. It reads the
 * declarations in dist/, so the build comes first. TypeDoc does not run on TypeScript 7 yet; it is given the package `typescript-6`.
 */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

registerHooks({ resolve: (name, context, next) => next(name === "typescript" ? "typescript-6" : name, context) });
const { Application, LogLevel, ReflectionKind } = await import("typedoc");

const root = fileURLToPath(new URL("..", import.meta.url));
const pagesFolder = join(root, "docs", "reference", "api");
const { name: packageName, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** By the name under which it is imported, the declarations of an entry. */
const entries = new Map(
  Object.entries(exports).flatMap(([path, { types }]) => (types === undefined ? [] : [[path.replace(".", packageName), types.slice(2)]])),
);

/** Types that public members name and no entry exports, by the reason why a program never writes their names. */
const UNNAMED = {
  "computed from other types": [
    "Answer",
    "ToolOutputOf",
    "AnyObject",
    "API",
    "DIFFERENCES",
    "Field",
    "HandlerInput",
    "InputPart",
    "InferJson",
    "InferTop",
    "Input",
    "OfParameters",
    "OpenSchema",
    "QueryOf",
    "SchemaType",
    "ToolInputOf",
  ],
  "for the message of the compiler": ["NeedsJsonSchema"],
  "bases of the members of a union": ["CallEvent", "Phase", "SessionFact"],
  "given and taken by another framework": [
    "AiSdkCallOptions",
    "AiSdkOutput",
    "MastraContext",
    "OpenAiCallDetails",
    "OpenAiInvokeDetails",
    "OpenAiParameters",
  ],
  "parts of a file that was read": [
    "ApprovalConfig",
    "ArtifactsConfig",
    "ChannelConfig",
    "EngineConfig",
    "FindToolsConfig",
    "LmConfig",
    "LoopConfig",
    "ModelConfig",
    "Problems",
    "Redact",
    "RegistryEntry",
    "ServeConfig",
    "SimulationConfig",
    "StoreConfig",
    "TelemetryConfig",
    "ToolsetConfig",
    "WebhookConfig",
    "WorkerConfig",
  ],
};

const folder = mkdtempSync(join(tmpdir(), "haft-api-"));
const problems = await run().finally(() => rmSync(folder, { recursive: true, force: true }));
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

/** What is wrong. */
async function run() {
  const app = await Application.bootstrapWithPlugins(options());
  const project = await app.convert();
  if (project === undefined) return ["TypeDoc could not read dist/. Run: npm run build"];
  for (const module of project.children) module.name = importName(module.name).replace("/", "-");
  const bare = project.children.flatMap((module) =>
    module.children.filter((one) => !hasComment(one)).map((one) => `${titleOf(module.name)} exports ${one.name} without a comment.`),
  );
  bare.push(...hiddenBases(project));
  app.validate(project);
  if (app.logger.hasWarnings()) bare.push("Export those types from the entry of what names them, or give a reason in UNNAMED.");
  await app.outputs.writeOutput({ name: "markdown", path: join(folder, "pages") }, project);
  const made = new Map([...readPages(join(folder, "pages"))].map(([file, text]) => [file, titled(text)]));
  if (process.argv.includes("--check")) return [...bare, ...stalePages(made)];
  rmSync(pagesFolder, { recursive: true, force: true });
  mkdirSync(pagesFolder, { recursive: true });
  for (const [file, text] of made) writeFileSync(join(pagesFolder, file), text);
  return bare;
}

function options() {
  const tsconfig = join(folder, "tsconfig.json");
  const files = [...entries.values()].map((file) => join(root, file));
  const compilerOptions = { module: "nodenext", target: "es2024", strict: true, skipLibCheck: true, types: ["node"] };
  writeFileSync(
    tsconfig,
    JSON.stringify({ compilerOptions: { ...compilerOptions, typeRoots: [join(root, "node_modules/@types")] }, files }),
  );
  return {
    plugin: ["typedoc-plugin-markdown"],
    entryPoints: files,
    tsconfig,
    basePath: root,
    name: packageName,
    readme: "none",
    router: "module",
    logLevel: LogLevel.Warn,
    validation: { notExported: true, invalidLink: false, notDocumented: false, rewrittenLink: false, unusedMergeModuleWith: false },
    intentionallyNotExported: Object.values(UNNAMED).flat(),
    excludeInternal: true,
    excludePrivate: true,
    disableSources: true,
    sort: ["kind", "alphabetical"],
    hidePageHeader: true,
    hideBreadcrumbs: true,
    useCodeBlocks: true,
    parametersFormat: "table",
    interfacePropertiesFormat: "table",
    classPropertiesFormat: "table",
    typeAliasPropertiesFormat: "table",
    typeDeclarationFormat: "table",
    propertyMembersFormat: "table",
  };
}

/** `haft/loop` for `dist/public/loop`, as TypeDoc calls it. */
function importName(name) {
  const known = [...entries].find(([, file]) => file.replace(/(?:\/index)?\.d\.ts$/u, "") === name);
  if (known === undefined) throw new Error(`TypeDoc read ${name}, which is no entry of package.json.`);
  return known[0];
}

/** The name of a module has a dash for its slash, as it becomes the name of a file. */
function titleOf(name) {
  return name.replace("-", "/");
}

function titled(text) {
  return text
    .replace(/^# (\S+-\S+)$/mu, (_, name) => `# ${titleOf(name)}`)
    .replaceAll(/\[(haft-[a-z-]+)\](?=\(\1\.md\))/gu, (_, name) => `[${titleOf(name)}]`);
}

/** The classes of the package that a public class extends and no entry exports: what is inherited could not be linked. */
function hiddenBases(project) {
  return project
    .getReflectionsByKind(ReflectionKind.Class)
    .flatMap((one) =>
      (one.extendedTypes ?? [])
        .filter((base) => base.type === "reference" && base.reflection === undefined && base.package === packageName)
        .map((base) => `${one.name} extends ${base.name}, which no entry exports.`),
    );
}

/** A name that another entry explains needs no comment of its own; a function has those of its signatures. */
function hasComment(one) {
  if (one.isReference()) return true;
  const signatures = [...(one.signatures ?? []), ...(one.type?.declaration?.signatures ?? [])];
  return [one, ...signatures].some(({ comment }) => comment?.hasVisibleComponent() === true);
}

function stalePages(made) {
  const kept = readPages(pagesFolder);
  const stale = [...new Set([...made.keys(), ...kept.keys()])].filter((file) => made.get(file) !== kept.get(file));
  return stale.length === 0 ? [] : [`docs/reference/api is not what the comments say: ${stale.join(", ")}. Run: npm run docs`];
}

/** By its name, the text of each page of a folder; none where there is no folder. */
function readPages(path) {
  try {
    return new Map(readdirSync(path).map((file) => [file, readFileSync(join(path, file), "utf8")]));
  } catch (error) {
    if (error.code === "ENOENT") return new Map();
    throw error;
  }
}
