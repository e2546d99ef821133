import type { RequestHandler, Response } from 'express';
import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { visitOf } from './guard/admit.js';

export interface LiveParts {
  /** What the page shows now, and a text that differs when there is something new in it. */
  readonly look: () => Promise<{ readonly fragment: string; readonly mark: string }>;
  /** Told that a look may be worth it. */
  readonly onChange: (listener: () => void) => () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Live extends Closable {
  readonly stream: RequestHandler;
}

/** Each holds a socket for as long as a page is open. */
const streamsMax = 24;
/** Another process may be the one that syncs, and what waits ends without a tick: so it is looked at anyway. */
const lookMillis = 5_000;
/** Not more often than this, however fast the ticks come. */
const restMillis = 500;

/**
 * Server-sent events: the live part of the page as HTML, to every page that is open, when something changed. One
 * look serves all of them, and nobody looks while no page is open.
 */
export function createLive({ look, onChange, clock, logger }: LiveParts): Live {
  const open = new Set<Response>();
  /** Those that were told nothing yet: what changed while their page was loading was told to others only. */
  const fresh = new Set<Response>();
  const closing = new AbortController();
  let nudged = new AbortController();
  let running: Promise<void> | undefined;

  const nudge = () => nudged.abort();
  const stopListening = onChange(nudge);

  /** A session that has ended, or a credential that was rotated, gets nothing more. */
  const endThoseWhoLeft = async () => {
    for (const response of open) {
      if (await visitOf(response).lasts()) continue;
      open.delete(response);
      response.end();
    }
  };

  const run = async () => {
    let told = '';
    for (let first = true; open.size > 0 && !closing.signal.aborted; first = false) {
      if (!first) {
        await clock.wait(lookMillis, AbortSignal.any([nudged.signal, closing.signal]));
        await clock.wait(restMillis, closing.signal);
      }
      nudged = new AbortController();
      try {
        await endThoseWhoLeft();
        const { fragment, mark } = await look();
        for (const response of open) {
          const news = mark !== told || fresh.has(response);
          response.write(news ? frame(fragment) : ': still here\n\n');
        }
        fresh.clear();
        told = mark;
      } catch (error) {
        // The mirror may be busy or away for a moment: the page stays as it is, and the next look may succeed.
        if (!isFault(error)) logger.warn({ error }, 'the live view could not look');
      }
    }
    running = undefined;
  };

  return {
    stream: (request, response) => {
      if (open.size >= streamsMax || closing.signal.aborted) {
        // 204 tells the browser not to try again; the page says that it stands still.
        response.status(204).end();
        return;
      }
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'x-accel-buffering': 'no',
      });
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

const frame = (fragment: string): string =>
  `event: overview\n${fragment
    .split('\n')
    .map((line) => `data: ${line}`)
    .join('\n')}\n\n`;
