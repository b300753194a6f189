/** Given to node by `--import`: the program begins when the server at the address of `HAFT_TURNS` says so, and its turn ends with the process. */
import { once } from "node:events";
import { connect } from "node:net";

const turn = connect(Number(process.env["HAFT_TURNS"]), "127.0.0.1");
await once(turn, "data");
turn.unref();
