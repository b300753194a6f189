/** Mounts the dashboard in its page. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { applyTheme, printInLight } from "./shell/theme.tsx";
import { addBasePath } from "./show/address.ts";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/replay.css";
import "./styles/timeline.css";
// After the rules that they replace.
import "./styles/forced-colors.css";
import "./styles/print.css";

const root = document.querySelector("#root");
if (root === null) throw new Error("The page has no element for the dashboard.");
applyTheme();
printInLight();
addBasePath();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
