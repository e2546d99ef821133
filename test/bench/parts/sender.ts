import { setTimeout as pause } from 'node:timers/promises';
import { Deliverer, signedRequest } from '../deliveries.js';
import { idOf } from '../feed.js';
import { times } from '../measures.js';
import { sharedNow } from '../shared-time.js';

export interface Flood {
  readonly url: string;
  readonly company: string;
  readonly count: number;
  /** Deliveries in flight at the same time, each on a connection of its own. */
  readonly connections: number;
  /** Milliseconds of rest after each delivery. */
  readonly restMillis: number;
}

/** Sends deliveries that were signed before, and times each. */
export async function startSender() {
  let events = 0;
  return {
    /** Returns the milliseconds of all together and of each. Throws unless every delivery is accepted. */
    send: async ({ url, company, count, connections, restMillis }: Flood) => {
      const deliverer = new Deliverer(new URL(url));
      const requests = times(count).map((no) => {
        events += 1;
        return signedRequest(deliverer.url, `evt_flood${events}`, company, idOf(no));
      });
      const each: number[] = [];
      let at = 0;
      const connection = async () => {
        for (let request = requests[at++]; request !== undefined; request = requests[at++]) {
          const began = sharedNow();
          const status = await deliverer.send(request);
          each.push(sharedNow() - began);
          if (status !== 202) throw new Error(`a delivery was answered ${status}`);
          if (restMillis > 0) await pause(restMillis);
        }
      };
      const began = sharedNow();
      try {
        await Promise.all(times(connections).map(connection));
        return { millis: sharedNow() - began, each };
      } finally {
        deliverer.close();
      }
    },
    close: async (): Promise<void> => {},
  };
}
