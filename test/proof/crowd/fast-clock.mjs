/*
 * Loaded into a process before its own modules, with `--import`: its time passes `CROWD_SPEED` times as fast as real time
 * since `CROWD_EPOCH`. Processes with the same two values agree on the time. Sockets and the database stay in real time.
 */
const speed = Number(process.env.CROWD_SPEED ?? 1);
const epoch = Number(process.env.CROWD_EPOCH ?? 0);

if (speed !== 1) {
  const RealDate = Date;
  const realNow = RealDate.now.bind(RealDate);
  const realMonotonic = performance.now.bind(performance);
  const now = () => Math.floor(epoch + (realNow() - epoch) * speed);
  globalThis.Date = class extends RealDate {
    constructor(...args) {
      if (args.length === 0) super(now());
      else super(...args);
    }
    static now = now;
  };
  performance.now = () => realMonotonic() * speed;
  const longest = 2 ** 31 - 1;
  for (const name of ['setTimeout', 'setInterval']) {
    const real = globalThis[name];
    const fast = (work, millis = 0, ...args) => real(work, Math.min(longest, millis / speed), ...args);
    globalThis[name] = Object.assign(fast, real);
  }
}
