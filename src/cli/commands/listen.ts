import { createInterface } from 'node:readline';
import { shownValue } from '../../config/shown-value.js';
import { Fault, isFault } from '../../domain/fault.js';
import type { Forwarded, ListenAsk, Listening, ListenParts } from '../../tasks/listen.js';
import type { PublicAsk } from '../../tasks/listen-public.js';
import { type Command, type CommandContext, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { endpointOptions } from '../endpoint-options.js';
import { exitCodes } from '../exit-codes.js';
import { platformUrlOf, sandboxUrlOption } from '../sandbox-url.js';

export const listen: Command = {
  name: 'listen',
  summary: 'Forward webhooks to an address of this machine, and show each',
  examples: [
    [
      'rosterd listen --forward-to http://localhost:3000/webhooks',
      'every event; r and Enter resends the last',
    ],
    [
      'rosterd listen --forward-to http://localhost:3000/ --events investment.changed',
      'only this event; --json prints one object a line',
    ],
    [
      'rosterd listen --forward-to http://localhost:3000/ --public-url https://…',
      'of a real platform, through a tunnel that leads to --listen',
    ],
  ],
  options: [
    ...endpointOptions.filter(({ flags }) => flags !== jsonOption.flags),
    sandboxUrlOption,
    { flags: '--forward-to <url>', summary: 'address that gets each delivery, unchanged' },
    {
      flags: '--events <names>',
      summary: 'only these events, separated by commas (default: all of a sandbox)',
    },
    { flags: '--public-url <url>', summary: 'public https address of your tunnel, for a real platform' },
    { flags: '--listen <host:port>', summary: 'where the tunnel leads (default: 127.0.0.1:8788)' },
    {
      flags: '--mode <mode>',
      summary: 'live or test events of a real platform (default: test; live with --source)',
      choices: ['live', 'test'],
    },
    jsonOption,
  ],
  async run(context) {
    const { io, options, out, signal } = context;
    const forwardTo = addressOf(options.text('forwardTo'));
    const events = await eventsOf(options.text('events'));
    refuseIgnored(context);
    const { systemRandom } = await import('../../runtime/random.js');
    const show = options.flag('json') ? asJson(context) : asText(context);
    const parts: ListenParts = {
      clock: io.clock,
      random: systemRandom,
      signal,
      onForwarded: show.forwarded,
      onNote: (text) => out.note(text),
    };
    const untilEnded = async (listening: Listening, ask: ListenAsk) => {
      show.begun(listening, ask);
      const stopReading = resendOnRequest(context, listening);
      try {
        await listening.ended;
      } finally {
        stopReading();
      }
    };
    if (options.text('publicUrl') === undefined) {
      const url = await deliveringSandbox(context);
      const { listenToSandbox } = await import('../../tasks/listen.js');
      const ask = { forwardTo, events };
      await untilEnded(await listenToSandbox(ask, { url }, parts), ask);
    } else {
      const ask = await publicAsk(context, forwardTo, events);
      const [{ listenToPlatform }, { managing }] = await Promise.all([
        import('../../tasks/listen-public.js'),
        import('../endpoints.js'),
      ]);
      await managing(context, async (api) => untilEnded(await listenToPlatform(ask, api, parts), ask));
    }
    return exitCodes.done;
  },
};

/**
 * Throws `usage` for an option that means nothing without a tunnel, or beside one: it would be ignored, with whatever it says.
 */
function refuseIgnored({ options }: CommandContext): void {
  if (options.text('publicUrl') !== undefined) {
    if (options.text('url') === undefined) return;
    throw new Fault('usage', '--url and --public-url: give one of them', {
      hint: '--url for a sandbox; --public-url for the platform of the configuration',
    });
  }
  const ignored = ['listen', 'mode', 'source'].find((name) => options.text(name) !== undefined);
  if (ignored === undefined) return;
  throw new Fault('usage', `--${ignored} has no effect without --public-url`, {
    hint: 'leave it out for a sandbox, or add --public-url https://…, the address of your tunnel',
  });
}

/** Reads the options for a real platform. Its events may have names: they are not sent over a network in clear text. */
async function publicAsk(
  context: CommandContext,
  forwardTo: URL,
  events: readonly string[],
): Promise<PublicAsk> {
  const { options } = context;
  const { isLoopback, parseListen } = await import('../../config/formats.js');
  const listenText = options.text('listen') ?? '127.0.0.1:8788';
  const at = parseListen(listenText);
  if (at === undefined) {
    throw new Fault('usage', `--listen is ${JSON.stringify(listenText)}`, {
      hint: 'HOST:PORT, such as 127.0.0.1:8788',
    });
  }
  if (forwardTo.protocol !== 'https:' && !isLoopback(forwardTo.hostname)) {
    throw new Fault('usage', '--forward-to must be on this machine or https:// for a real platform', {
      hint: '--forward-to http://localhost:3000/webhooks',
    });
  }
  const { config } = await configOf(context, { draft: true });
  const bound = options.text('source') !== undefined;
  return {
    forwardTo,
    events: events.length === 0 ? ['investment.changed'] : events,
    publicUrl: options.text('publicUrl') ?? '',
    at,
    mode: (options.text('mode') ?? (bound ? 'live' : 'test')) === 'live' ? 'live' : 'test',
    signature: config.platform.headers.signature,
  };
}

/** Returns the address of a sandbox that can deliver to this machine. */
async function deliveringSandbox(context: CommandContext): Promise<string> {
  const { isLoopback } = await import('../../config/formats.js');
  const { url, isSandbox } = await platformUrlOf(context, () => configOf(context, { draft: true }));
  if (isLoopback(new URL(url).hostname)) return url;
  const message = isSandbox
    ? `the sandbox at ${url} delivers only to its own machine and to public HTTPS addresses`
    : `the platform at ${url} delivers only to public HTTPS addresses, not to this machine`;
  throw new Fault('usage', message, {
    hint: '--url with a sandbox on this machine (`rosterd sandbox`); or open a tunnel to 127.0.0.1:8788 and give its address with --public-url https://your.tunnel/webhooks',
  });
}

function addressOf(text: string | undefined): URL {
  if (text === undefined) {
    throw new Fault('usage', '--forward-to is missing', {
      hint: '--forward-to http://localhost:3000/webhooks, the address of your receiver',
    });
  }
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '')
    return url;
  throw new Fault('usage', `--forward-to is ${shownValue(text)}`, {
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
  begun(listening: Listening, ask: ListenAsk): void;
  forwarded(forwarded: Forwarded): void;
}

/** One object a line, also at a terminal: programs read it as it comes. */
function asJson({ out }: CommandContext): Show {
  return {
    begun: ({ endpoint, secret }, { forwardTo }) =>
      out.styled(JSON.stringify({ type: 'listening', endpoint, secret, forwardTo: forwardTo.href })),
    forwarded: (forwarded) => out.styled(JSON.stringify({ type: 'delivery', ...forwarded })),
  };
}

function asText({ out }: CommandContext): Show {
  const wide = (text: string | null, width: number) => (text ?? '?').padEnd(width);
  return {
    begun({ endpoint, secret }, { events, forwardTo: { href } }) {
      out.line(`endpoint: ${endpoint}`);
      out.line(`secret: ${secret}`);
      out.note(
        `Forwarding ${events.length === 0 ? 'all events' : events.join(', ')} to ${href}. r and Enter resends the last delivery, Ctrl-C ends.`,
      );
    },
    forwarded({ at, event, id, status, error, ms, resent }) {
      const what = `${at.slice(11, 19)}  ${wide(event, 28)}  ${wide(id, 26)}`;
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
