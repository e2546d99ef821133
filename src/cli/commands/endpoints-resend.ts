import { Fault, isFault } from '../../domain/fault.js';
import { type Command, configOptions, jsonOption } from '../command.js';
import { deliveryCalls } from '../delivery-calls.js';
import { exitCodes } from '../exit-codes.js';
import { sandboxUrlOption } from '../sandbox-url.js';

export const endpointsResend: Command = {
  name: 'endpoints resend',
  summary: 'Make a sandbox resend a delivery; exit 1 when it is not delivered',
  examples: [
    ['rosterd endpoints resend dlv_…', 'the same bytes and event id with a new signature'],
    ['rosterd endpoints resend dlv_… --json', 'for a script'],
  ],
  args: [{ name: '<delivery>', summary: 'the delivery, dlv_…, as `rosterd endpoints deliveries` lists it' }],
  options: [...configOptions, sandboxUrlOption, jsonOption],
  async run(context) {
    const { args, io, options, out } = context;
    const calls = await deliveryCalls(context);
    if (calls === null) {
      throw new Fault('refused', "the platform's API has no operation that resends a delivery", {
        hint: '`rosterd sync`, which reads every change that a lost webhook announced. The platform itself retries for 72 hours, and a developer of the application can resend in its developer portal',
      });
    }
    const { resendDelivery } = await import('../../tasks/deliveries.js');
    const id = args[0] ?? '';
    const { delivery, attempt } = await resendDelivery(id, io.clock, calls).catch((error: unknown) => {
      if (!isFault(error, 'refused')) throw error;
      const { status } = error.about;
      const hint =
        status === 404
          ? '`rosterd endpoints deliveries` lists those there are'
          : '`rosterd endpoints reenable`, if its endpoint is disabled; a canceled delivery cannot be resent';
      throw new Fault('refused', error.message, { ...error.about, hint, cause: error });
    });
    const delivered = delivery.state === 'delivered' && attempt !== null;
    if (options.flag('json')) out.json({ ...delivery, delivered });
    else {
      const answer =
        attempt === null
          ? 'no attempt within 20 s'
          : (attempt.error ?? `answered ${attempt.status ?? 'nothing'}`);
      const took = attempt?.durationMs == null ? '' : ` in ${attempt.durationMs} ms`;
      out.line(`${delivery.event}: ${delivered ? 'delivered' : 'not delivered'}, ${answer}${took}`);
    }
    return delivered ? exitCodes.done : exitCodes.failed;
  },
};
