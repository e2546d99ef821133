import { createInterface } from 'node:readline';
import { Fault, isFault } from '../../domain/fault.js';
import type { Forwarded, Listening, ListenParts } from '../../tasks/listen.js';
import { type Command, type CommandContext, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { exitCodes } from '../exit-codes.js';
import { placeOf, sandboxUrlOption } from '../sandbox-url.js';

export const listen: Command = {
  name: 'listen',
  summary: 'Forward webhooks of a sandbox to an address of this machine, and show each',
  examples: [
    [
      'rosterd listen --forward-to http://localhost:3000/webhooks',
      'every event; r and Enter resends the last',
    ],
    [
      'rosterd listen --forward-to http://localhost:3000/ --events investment.changed',
      'only this event; --json prints one object a line',
    ],
  ],
  options: [
    ...configOptions,
    sandboxUrlOption,
    { flags: '--forward-to <url>', summary: 'address that gets each delivery, unchanged' },
    { flags: '--events <names>', summary: 'only these events, separated by commas (default: all)' },
    jsonOption,
  ],
  async run(context) {
    const { io, options, out, signal } = context;
    const forwardTo = addressOf(options.text('forwardTo'));
    const events = await eventsOf(options.text('events'));
    const url = await deliveringSandbox(context);
    const [{ listenToSandbox }, { systemRandom }] = await Promise.all([
      import('../../tasks/listen.js'),
      import('../../runtime/random.js'),
    ]);
    const show = options.flag('json') ? asJson(context) : asText(context, events);
    const parts: ListenParts = {
      clock: io.clock,
      random: systemRandom,
      signal,
      onForwarded: show.forwarded,
      onNote: (text) => out.note(text),
    };
    const listening = await listenToSandbox({ forwardTo, events }, { fetch: globalThis.fetch, url }, parts);
    show.begun(listening, forwardTo);
    const stopReading = resendOnRequest(context, listening);
    try {
      await listening.ended;
    } finally {
      stopReading();
    }
    return exitCodes.done;
  },
};

/** Returns the address of a sandbox that can deliver to this machine. */
async function deliveringSandbox(context: CommandContext): Promise<string> {
  const { isLoopback } = await import('../../config/values.js');
  const { url, isSandbox } = await placeOf(context, () => configOf(context, { draft: true }));
  if (isLoopback(new URL(url).hostname)) return url;
  const message = isSandbox
    ? `the sandbox at ${url} delivers only to its own machine and to public HTTPS addresses`
    : `the platform at ${url} delivers only to public HTTPS addresses, not to this machine`;
  throw new Fault('usage', message, {
    hint: '--url with a sandbox on this machine (`rosterd sandbox`); or open a tunnel to your receiver and create its endpoint with `rosterd endpoints create https://your.tunnel/webhooks --mode test`',
  });
}

function addressOf(text: string | undefined): URL {
  if (text === undefined) {
    throw new Fault('usage', '--forward-to is missing', {
      hint: '--forward-to http://localhost:3000/webhooks, the address of your receiver',
    });
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '')
    return url;
  throw new Fault('usage', `--forward-to is ${JSON.stringify(text)}`, {
    hint: 'http:// or https:// without a user name, such as http://localhost:3000/webhooks',
  });
}

async function eventsOf(text: string | undefined): Promise<readonly string[]> {
  if (text === undefined) return [];
  const { eventNames } = await import('../../wire/events.js');
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !eventNames.some((known) => known === name));
  if (unknown === undefined) return names;
  throw new Fault('usage', `--events: ${JSON.stringify(unknown)} is no event`, {
    hint: `one or more of ${eventNames.join(', ')}`,
  });
}

interface Show {
  begun(listening: Listening, forwardTo: URL): void;
  forwarded(forwarded: Forwarded): void;
}

/** One object a line, also at a terminal: programs read it as it comes. */
function asJson({ out }: CommandContext): Show {
  return {
    begun: ({ endpoint, secret }, { href }) =>
      out.styled(JSON.stringify({ type: 'listening', endpoint, secret, forwardTo: href })),
    forwarded: (forwarded) => out.styled(JSON.stringify({ type: 'delivery', ...forwarded })),
  };
}

function asText({ out }: CommandContext, events: readonly string[]): Show {
  const wide = (text: string | null, width: number) => (text ?? '?').padEnd(width);
  return {
    begun({ endpoint, secret }, { href }) {
      out.line(`endpoint: ${endpoint}`);
      out.line(`secret: ${secret}`);
      out.note(
        `Forwarding ${events.length === 0 ? 'all events' : events.join(', ')} to ${href}. r and Enter resends the last delivery, Ctrl-C ends.`,
      );
    },
    forwarded({ at, event, id, status, error, ms, resent }) {
      const what = `${at.slice(11, 19)}  ${wide(event, 28)}  ${wide(id, 24)}`;
      const answer = status === null ? error : String(status);
      const line = `${what}  ${wide(answer, 3)}  ${ms} ms${resent ? '  resent' : ''}`;
      const good = status !== null && status >= 200 && status < 300;
      out.styled(good ? line : out.paint.red(line));
    },
  };
}

/** Resends the last delivery for each line `r` on stdin. Returns a function that stops reading. */
function resendOnRequest({ io, out, signal }: CommandContext, listening: Listening): () => void {
  const lines = createInterface({ input: io.stdin, terminal: false });
  let resending = Promise.resolve();
  lines.on('line', (line) => {
    if (line.trim().toLowerCase() !== 'r') return;
    resending = resending
      .then(() => listening.resend())
      .catch((error: unknown) => {
        if (signal.aborted) return;
        out.warn(`not resent: ${isFault(error) ? error.message : 'an unexpected error'}`);
      });
  });
  return () => lines.close();
}
