/** Addresses of the calls of a log: of a session of the server, or of a file that is open in the page. */
import { createContext, useContext } from "react";
import { encodePathPart, sessionPath } from "./address.ts";

export interface LogLinks {
  readonly pathTo: (callId?: string) => string;
  /** Whether the log comes from a file, without a server to ask for more. */
  readonly isFile: boolean;
}

const FILE_LINKS: LogLinks = {
  isFile: true,
  pathTo: (callId) => (callId === undefined ? "/file" : `/file/calls/${encodePathPart(callId)}`),
};

const FileContext = createContext(false);

/** Marks the components below it as showing a file. */
export const FileProvider = FileContext;

export function useLogLinks(sessionId: string): LogLinks {
  return useContext(FileContext) ? FILE_LINKS : { isFile: false, pathTo: (callId) => sessionPath(sessionId, callId) };
}
