// Events between the modules of the page, and work that repeats while a view is open.

const RETRY = 5000;
const target = new EventTarget();

/** Send an event to all listeners. */
export function emit(name, detail = null) {
  target.dispatchEvent(new CustomEvent(name, { detail }));
}

/** Listen until the signal aborts. */
export function on(name, listener, signal) {
  target.addEventListener(name, (event) => listener(event.detail), { signal });
}

/** Run act now and again so many milliseconds after it finished; not while the tab is hidden. The
 * returned function runs it at once. */
export function every(milliseconds, act, signal) {
  let timer = 0;
  let again = false;
  let busy = false;
  async function run() {
    clearTimeout(timer);
    if (signal?.aborted) return;
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      if (!document.hidden) await act();
    } catch (error) {
      if (error.name !== "AbortError") emit("error", error);
    } finally {
      busy = false;
    }
    if (signal?.aborted) return;
    timer = setTimeout(run, again ? 0 : milliseconds);
    again = false;
  }
  signal?.addEventListener("abort", () => clearTimeout(timer), { once: true });
  document.addEventListener("visibilitychange", () => !document.hidden && run(), { signal });
  run();
  return run;
}

/** Run act until it succeeds once: again after RETRY, and as soon as the service is back. */
export function untilDone(act, signal) {
  const done = new AbortController();
  const either = signal ? AbortSignal.any([signal, done.signal]) : done.signal;
  const again = every(RETRY, async () => {
    await act();
    done.abort();
  }, either);
  on("back", again, either);
}

/** The same function, run at most once in so many milliseconds; the last call is never lost. */
export function throttle(milliseconds, act, signal) {
  let timer = 0;
  let next = 0;
  signal?.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return () => {
    if (timer || signal?.aborted) return;
    const wait = Math.max(0, next - performance.now());
    timer = setTimeout(() => {
      timer = 0;
      next = performance.now() + milliseconds;
      act();
    }, wait);
  };
}
