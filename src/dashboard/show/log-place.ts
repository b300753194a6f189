/** Addresses of the calls of a log: of a session of the server, or of a file that is open in the page. */
import { createContext, useContext } from "react";
import { encoded, sessionPath } from "./address.ts";

export interface LogPlace {
  readonly pathTo: (callId?: string) => string;
  /** Whether the log comes from a file, without a server to ask for more. */
  readonly isFile: boolean;
}

const FILE_PLACE: LogPlace = {
  isFile: true,
  pathTo: (callId) => (callId === undefined ? "/file" : `/file/calls/${encoded(callId)}`),
};

const FileContext = createContext(false);

/** Marks the components below it as showing a file. */
export const InFile = FileContext;

export function useLogPlace(sessionId: string): LogPlace {
  return useContext(FileContext) ? FILE_PLACE : { isFile: false, pathTo: (callId) => sessionPath(sessionId, callId) };
}
