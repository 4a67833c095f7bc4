// Who says what to whom: news inside the page, and work that repeats while a view is open.

const RETRY = 5000;
const news = new EventTarget();

/** Tell everybody. */
export function emit(name, detail = null) {
  news.dispatchEvent(new CustomEvent(name, { detail }));
}

/** Listen until the signal says enough. */
export function on(name, listener, signal) {
  news.addEventListener(name, (event) => listener(event.detail), { signal });
}

/** Do it now and then again so many milliseconds after it was done; not while nobody looks. */
export function every(milliseconds, act, signal) {
  let timer = 0;
  let again = false;
  let busy = false;
  async function turn() {
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
      if (error.name !== "AbortError") emit("trouble", error);
    } finally {
      busy = false;
    }
    if (signal?.aborted) return;
    timer = setTimeout(turn, again ? 0 : milliseconds);
    again = false;
  }
  signal?.addEventListener("abort", () => clearTimeout(timer), { once: true });
  document.addEventListener("visibilitychange", () => !document.hidden && turn(), { signal });
  turn();
  return turn;
}

/** Do it until it succeeds once: again after a while, and as soon as the service is back. */
export function untilDone(act, signal) {
  const done = new AbortController();
  const either = signal ? AbortSignal.any([signal, done.signal]) : done.signal;
  const again = every(RETRY, async () => {
    await act();
    done.abort();
  }, either);
  on("back", again, either);
}

/** The same function, called at most once in so many milliseconds; the last call counts. */
export function seldom(milliseconds, act, signal) {
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
