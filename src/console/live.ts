import type { RequestHandler, Response } from 'express';
import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { unlessAborted } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { visitOf } from './guard/admit.js';

interface Seen {
  readonly fragment: string;
  readonly mark: string;
}

export interface LiveParts {
  /** Returns the current content, and a mark that changes when the content does. */
  readonly look: () => Promise<Seen>;
  /** Registers a listener that is called when the content may have changed. Returns the function that removes it. */
  readonly onChange: (listener: () => void) => () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Live extends Closable {
  readonly stream: RequestHandler;
}

/** Each stream uses a socket for as long as its page is open. */
const streamsMax = 24;
/** Polling interval: another process may run the sync, and some waits end without a tick. */
const lookMillis = 5_000;
/** Minimum pause between two looks, however often the content changes. */
const restMillis = 500;

/**
 * Server-sent events: sends the live part as HTML to every open page when it changes. One look serves all pages, and
 * nothing is read while no page is open.
 */
export function createLive({ look, onChange, clock, logger }: LiveParts): Live {
  const open = new Set<Response>();
  /** Streams that may have missed a change: those without an event yet, and those that were behind. */
  const fresh = new Set<Response>();
  const closing = new AbortController();
  let nudged = new AbortController();
  let running: Promise<void> | undefined;
  let sentMark = '';

  const nudge = () => nudged.abort();
  const stopListening = onChange(nudge);

  /** Ends the streams of sessions that have ended or whose credential was rotated. */
  const endExpiredStreams = async () => {
    for (const response of open) {
      if (await visitOf(response).lasts()) continue;
      open.delete(response);
      response.end();
    }
  };

  /** Sends the content to the pages that do not have it yet, and to the others that the stream goes on. */
  const send = ({ fragment, mark }: Seen) => {
    const behind: Response[] = [];
    for (const response of open) {
      // A client that has not taken the last event gets the newest one later, and not all in between: a sleeping
      // computer takes nothing for many minutes, and all of it would be kept in memory.
      if (response.writableNeedDrain) {
        behind.push(response);
        continue;
      }
      const changed = mark !== sentMark || fresh.has(response);
      response.write(changed ? frame(fragment) : ': still here\n\n');
    }
    fresh.clear();
    for (const response of behind) if (open.has(response)) fresh.add(response);
    sentMark = mark;
  };

  const run = async () => {
    sentMark = '';
    while (open.size > 0 && !closing.signal.aborted) {
      nudged = new AbortController();
      try {
        await endExpiredStreams();
        // A look at a database that does not answer may last for minutes, and a stop does not wait for it.
        const seen = await unlessAborted(closing.signal, look());
        if (seen === null) break;
        send(seen);
      } catch (error) {
        // The mirror may be busy or unreachable for a moment: the page keeps its content, and the next look may succeed.
        if (!isFault(error)) logger.warn({ error }, 'the live view could not be updated');
      }
      await clock.wait(lookMillis, AbortSignal.any([nudged.signal, closing.signal]));
      await clock.wait(restMillis, closing.signal);
    }
    running = undefined;
  };

  return {
    stream: (request, response) => {
      if (open.size >= streamsMax || closing.signal.aborted) {
        // 204 stops the browser from reconnecting; the page then shows that it is not updating.
        response.status(204).end();
        return;
      }
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'x-accel-buffering': 'no',
      });
      // A response to HEAD has no body, so nothing else would end it.
      if (request.method === 'HEAD') {
        response.end();
        return;
      }
      response.write('retry: 2000\n\n');
      open.add(response);
      fresh.add(response);
      request.on('close', () => {
        open.delete(response);
        fresh.delete(response);
        if (open.size === 0) nudge();
      });
      if (running === undefined) running = run();
      else nudge();
    },
    close: async () => {
      stopListening();
      closing.abort();
      for (const response of open) response.end();
      open.clear();
      await running;
    },
  };
}

/** Serializes what a page shows without its own time and the ages derived from it. */
export const markOf = (seen: object): string =>
  JSON.stringify(seen, (key, value: unknown) => (ages.has(key) ? undefined : value));

/** The time left of a listing counts by the minute of its text. */
const ages: ReadonlySet<string> = new Set(['at', 'cursor_age_seconds', 'seconds_left', 'seconds_waiting']);

/** A lone carriage return, which a name may contain, ends a line of the stream too. */
const frame = (fragment: string): string =>
  `event: parts\n${fragment
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}`)
    .join('\n')}\n\n`;
