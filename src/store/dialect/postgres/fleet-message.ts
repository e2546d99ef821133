import { type InstallationId, parseId, parseSourceName, type SourceName } from '../../../domain/ids.js';
import type { Message } from '../../../fleet/ports.js';
import { type Lane, parseLane } from '../../../inbox/ports.js';

/*
 * The messages between members, as JSON in the payload of a notification. Every role that may connect to the database
 * may send one, so a payload is validated like any external input, and invalid payloads are ignored.
 */

const namesPerMessage = 100;
/** Keeps a payload below PostgreSQL's limit of 8,000 bytes. Lanes of many sources and ids may be long; all of them are ASCII. */
const charactersPerMessage = 7_000;

export interface ReceivedMessage {
  readonly from: string;
  readonly message: Message;
}

/** Returns the message as one or more payloads, each within the size limit. */
export function payloadsOf(from: string, message: Message): readonly string[] {
  return inParts(message).map((part) => JSON.stringify({ ...part, from }));
}

/** Returns the message, or null if the payload is not a valid one. */
export function readPayload(payload: string): ReceivedMessage | null {
  const fields = objectIn(payload);
  if (fields === null || typeof fields.from !== 'string') return null;
  const message = messageOf(fields);
  return message === null ? null : { from: fields.from, message };
}

type Fields = Readonly<Record<string, unknown>>;

function objectIn(payload: string): Fields | null {
  try {
    const value: unknown = JSON.parse(payload);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

function messageOf({ kind, lanes, sources, source, event, installations }: Fields): Message | null {
  switch (kind) {
    case 'accepted':
      return isListOf(lanes, isLane) ? { kind, lanes } : null;
    case 'recheck':
      return isListOf(sources, isSource) ? { kind, sources } : null;
    case 'touched':
      return isListOf(sources, isSource) && isEvent(event) ? { kind, sources, event } : null;
    case 'ticked':
      return isSource(source) ? { kind, source } : null;
    case 'installed':
      return isListOf(installations, isInstallation) ? { kind, installations } : null;
    case 'committed':
    case 'backed_up':
    case 'members':
      return { kind };
    default:
      return null;
  }
}

function isListOf<Value>(value: unknown, is: (one: unknown) => one is Value): value is readonly Value[] {
  return Array.isArray(value) && value.length <= namesPerMessage && value.every(is);
}

const isSource = (value: unknown): value is SourceName => parseSourceName(value) !== undefined;

const isInstallation = (value: unknown): value is InstallationId =>
  parseId('installation', value) !== undefined;

const isEvent = (value: unknown): value is string =>
  typeof value === 'string' && /^[\w.-]{1,100}$/.test(value);

const isLane = (value: unknown): value is Lane => parseLane(value) !== undefined;

function inParts(message: Message): readonly Message[] {
  switch (message.kind) {
    case 'accepted':
      return chunks(message.lanes).map((lanes) => ({ kind: 'accepted', lanes }));
    case 'recheck':
      return chunks(message.sources).map((sources) => ({ kind: 'recheck', sources }));
    case 'installed':
      return chunks(message.installations).map((installations) => ({ kind: 'installed', installations }));
    case 'touched':
      return chunks(message.sources).map((sources) => ({ ...message, sources }));
    default:
      return [message];
  }
}

function chunks<Value extends string>(values: readonly Value[]): readonly (readonly Value[])[] {
  const parts: Value[][] = [];
  let characters = 0;
  for (const value of values) {
    const part = parts.at(-1);
    // With its quotes and a comma.
    characters += value.length + 3;
    if (part !== undefined && part.length < namesPerMessage && characters <= charactersPerMessage)
      part.push(value);
    else {
      parts.push([value]);
      characters = value.length + 3;
    }
  }
  return parts;
}
