/** A program that runs a program, for a bundler to make one file of. */
import { createRuntime } from "haft";
import { programToolset } from "haft/program";

const runtime = createRuntime({ toolsets: [programToolset()] });
const { error, output } = await runtime.execute({ name: "run_program", input: { code: "return 1;" } });
console.log(JSON.stringify(error === undefined ? output : [error.code, error.message, error.operatorHint]));
await runtime.close();
