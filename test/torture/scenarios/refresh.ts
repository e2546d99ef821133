import { startTorture, steps, stepsOfVault, wires } from '../refresh-round.js';
import { pick, type Scenario } from '../scenario.js';
import { Violation } from '../violation.js';

/**
 * Kills the process at every step of a token refresh, with the response lost, late or doubled: the sign-in must
 * survive.
 */
export const refresh: Scenario = {
  name: 'refresh',
  async open({ server }) {
    const torture = await startTorture(server);
    return {
      async round(random, counters) {
        const step = pick(random, [...(server === null ? steps : stepsOfVault), 'never' as const]);
        const when = pick(random, ['before', 'after'] as const);
        const wire = pick(random, wires);
        counters.add(step === 'never' ? 'refreshed undisturbed' : `SIGKILL ${when} ${step}`);
        counters.add(`answer ${wire}`);
        try {
          await torture.round({ step, when, wire });
        } catch (error) {
          throw new Violation(`${when} ${step}, ${wire}: ${String(error)}`);
        }
      },
      close: () => torture.close(),
    };
  },
};
