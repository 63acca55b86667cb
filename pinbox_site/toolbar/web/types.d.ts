// Shapes that several modules share: those of the wire (docs/wire.md) and those of the toolbar itself.

export interface Rect { x: number; y: number; width: number; height: number }
export interface Point { x: number; y: number }

export interface Source { file: string; line?: number; via: "plugin" | "framework" | "none" }
export interface Context {
  classes?: string[];
  styles?: Record<string, string>;
  aria?: Record<string, string>;
  nearbyText?: string;
  selectedText?: string;
  textRuns?: string[];
  failedRequests?: string[];
  consoleErrors?: string[];
}
export interface Target {
  url?: string;
  selector?: string;
  tag?: string;
  rect?: Rect;
  spot?: Point;
  fixed?: boolean;
  anchor?: string;
  source?: Source;
  context?: Context;
  targets?: Target[];
}
export interface Attachment { id: string; kind: "screenshot" | "file"; path?: string; url?: string; contentType?: string; width?: number; height?: number }
export interface Author { userId: string; name?: string; email?: string }
export interface PinInput {
  text: string;
  kind?: "note" | "move";
  target?: Target;
  move?: { from: Rect; to: Rect };
  env?: Record<string, unknown>;
  author: Author;
  attachments?: Attachment[];
}
export interface Pin extends PinInput {
  id: string;
  n?: number;
  status: "open" | "resolved";
  createdAt: string;
  agentSession?: { agent: string; key: string; cwd?: string };
  resolution?: { by: "human" | "agent"; note?: string; commit?: string; at: string };
  verification?: { outcome: "accepted" | "reopened"; at: string };
  links?: { connector: string; ref: string; url: string }[];
}
export interface Message {
  id: string;
  pinId: string;
  role: "human" | "agent" | "mirror";
  origin?: string;
  text: string;
  attachments?: Attachment[];
  at: string;
}
export interface HubEvent { seq: number; type: string; at: string; payload: Pin | Message }
export interface Delivery {
  id: number;
  eventSeq: number;
  pinId: string;
  sessionId: string | null;
  adapter: string;
  status: "pending" | "delivered" | "failed" | "skipped";
  attempts: number;
  dueAt: string | null;
  lastError: string | null;
  updatedAt: string;
  handedOverAt?: string;
  acknowledgedAt?: string;
}
export interface Summary { open: number; resolved: number; lastEventSeq: number; sessions: number; agents?: string[] }

/** What a page gives the toolbar. */
export interface Config {
  endpoint: string;
  token?: string;
  getToken?: () => string | Promise<string>;
  project?: string;
  discover?: string;
  screenshots?: boolean;
  minimized?: boolean;
  lang?: string;
  theme?: "light" | "dark";
}

/** How the hub is reached just now. */
export type Link = "connecting" | "live" | "offline" | "blocked" | "refused" | "outdated" | "unset";

/** The states of a pin; each has one shape, one word, one colour everywhere. */
export type State = "draft" | "unsent" | "failed" | "open" | "with" | "answered" | "verify" | "closed";

export interface Failure { code: string; message: string; hint?: string; status: number }

/** One write that the hub has not answered with 2xx yet. `id` is its idempotency key. */
export interface Entry {
  id: string;
  at: number;
  kind: "pin" | "reply" | "resolve" | "accept" | "reopen";
  /** Id of the pin, or of an entry of kind "pin" that is still on its way. */
  pin: string;
  body: string;
  tries: number;
  error?: Failure;
  /** Refused for good: it waits for a person, not for the hub. */
  held?: boolean;
  /** A picture that is not uploaded yet, as a data URL. */
  shot?: string;
}

/** What is being written and was not sent. */
export interface Draft {
  id: string;
  text: string;
  target: Target;
  move?: { from: Rect; to: Rect };
  shot?: string;
  shotError?: string;
  attach?: boolean;
  at: number;
}

/** What is known of a thread without having read all of it. */
export interface Tail { role: Message["role"]; at: string; count: number; origin?: string }

declare global {
  /** Set by bundle.py: what the parts are made from, and what they are given. */
  const STAMP: string;
  const KIT: Record<string, unknown>;
}
