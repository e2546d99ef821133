/*
 * Loaded before rosterd on a host: gives the process a clock of its own and lets it die in the middle of a request. Reads
 * its orders from a file: {"offsetMillis": N, "dies": {"path": "/oauth/token", "step": "asked"}}.
 * ROSTERD_TORTURE_LEADS={"3000": 4000} leads connections to one port of this machine to another one.
 */
import diagnostics from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';

const file = process.env.ROSTERD_TORTURE_ORDERS;
let orders = { offsetMillis: 0, dies: null };
const read = () => {
  try {
    orders = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // It is being written.
  }
};
if (file !== undefined) {
  read();
  setInterval(read, 50).unref();
  const SystemDate = Date;
  globalThis.Date = class extends SystemDate {
    constructor(...args) {
      if (args.length === 0) super(SystemDate.now() + orders.offsetMillis);
      else super(...args);
    }
    static now() {
      return SystemDate.now() + orders.offsetMillis;
    }
  };
  const meant = ({ path }) => orders.dies !== null && path.includes(orders.dies.path);
  const die = () => process.kill(process.pid, 'SIGKILL');
  diagnostics.subscribe('undici:client:sendHeaders', ({ request }) => {
    if (meant(request) && orders.dies.step === 'asked') die();
  });
  diagnostics.subscribe('undici:request:trailers', ({ request }) => {
    if (!meant(request)) return;
    if (orders.dies.step === 'answered') die();
    if (orders.dies.step === 'soon after') setTimeout(die, orders.dies.afterMillis);
  });
}

const leads = JSON.parse(process.env.ROSTERD_TORTURE_LEADS ?? '{}');
const { connect } = Socket.prototype;
Socket.prototype.connect = function (...args) {
  // Node itself passes its options as the first element of an array.
  const [options] = Array.isArray(args[0]) ? args[0] : args;
  if (options?.port in leads) options.port = leads[options.port];
  return connect.apply(this, args);
};

const { runCommandLine } = await import(new URL('../../../dist/cli/command-line.js', import.meta.url).href);
await runCommandLine((args) => args);
