// A camera in this browser, or a video file it plays: frame by frame to the service, one at a
// time. The frame that was sent stays on its canvas until its answer is drawn over it.

import { get, hangUp, part, socketAddress } from "./api.js";
import { emit } from "./bus.js";
import { h } from "./dom.js";
import { took } from "./latency.js";
import { ensureSignedIn } from "./session.js";
import { S } from "./strings.js";

const WIDEST = 640;
const HIGHEST = 480;
const PAUSE = 40;
const NOT_NOW = 1013;
const NAMES = 16;
const ERRORS = {
  NotAllowedError: S.own.refused, SecurityError: S.own.refused, NotFoundError: S.own.none,
  OverconstrainedError: S.own.none, NotReadableError: S.own.inUse, AbortError: S.own.inUse,
};

/** Those that run in this tab, by name. They go on while other views are open. */
export const guests = new Map();
const stopped = new Map();

/** Whether it was stopped here a moment ago: the service may list it a little longer. */
export const justStopped = (name) => performance.now() - (stopped.get(name) ?? -Infinity) < 5000;

class Guest {
  constructor(video, base, release) {
    Object.assign(this, { video, base, release, name: base, socket: null, ended: false, problem: "", failures: 0 });
    this.frame = h("canvas", {});
    this.context = this.frame.getContext("2d", { alpha: false });
    this.show = null;
    this.attempt = 0;
    video.addEventListener("ended", () => this.finish());
  }

  /** Connect under a name that is free: another tab may have the first one. */
  async open() {
    const taken = new Set((await get("/cameras")).map((camera) => camera.name));
    do {
      this.attempt += 1;
      this.name = this.attempt > 1 ? `${this.base} ${this.attempt}` : this.base;
    } while (taken.has(this.name) && this.attempt < NAMES);
    this.socket = new WebSocket(socketAddress(`/browser/${part(this.name)}`));
    this.socket.onopen = async () => {
      guests.set(this.name, this);
      this.problem = "";
      emit("guests");
      if (!this.video.ended) await this.video.play().catch(() => {}); // no frame then: none is sent
      this.send();
    };
    this.socket.onmessage = ({ data }) => this.answered(JSON.parse(data));
    this.socket.onclose = (event) => this.lost(event.code);
  }

  async send() {
    const { video, socket, frame } = this;
    await this.newFrame();
    if (socket !== this.socket || socket?.readyState !== WebSocket.OPEN || video.ended || !video.videoWidth) return;
    const scale = Math.min(1, WIDEST / video.videoWidth, HIGHEST / video.videoHeight);
    const width = Math.round(scale * video.videoWidth);
    const height = Math.round(scale * video.videoHeight);
    if (frame.width !== width || frame.height !== height) Object.assign(frame, { width, height });
    this.taken = performance.now();
    this.stamp = video.currentTime;
    this.context.drawImage(video, 0, 0, width, height);
    frame.toBlob((jpeg) => jpeg && socket.readyState === WebSocket.OPEN && socket.send(jpeg), "image/jpeg", 0.88);
  }

  /** Wait until the video shows something that was not sent yet. */
  newFrame() {
    const { video } = this;
    if (video.currentTime !== this.stamp) return Promise.resolve();
    return new Promise((resolve) => {
      const late = setTimeout(resolve, 250);
      video.requestVideoFrameCallback?.(() => {
        clearTimeout(late);
        resolve();
      });
    });
  }

  answered(result) {
    const milliseconds = performance.now() - this.taken;
    this.failures = 0;
    if (result.faces) {
      took(milliseconds);
      this.show?.(result, this.frame, { milliseconds });
      if (this.video.ended) emit("guests"); // the words over the last picture come back
      else this.problem = "";
    } else {
      this.problem = result.detail ?? "";
      emit("guests");
    }
    setTimeout(() => this.send(), Math.max(0, PAUSE - milliseconds));
  }

  lost(code) {
    this.socket = null;
    guests.delete(this.name);
    if (this.ended) return;
    this.video.pause(); // a video file goes on from here once the service is back
    this.failures += 1;
    if (code !== NOT_NOW) this.attempt = 0; // the service went away, and the name is free again
    this.problem = S.live.reconnecting;
    if (this.attempt >= NAMES) {
      this.problem = S.own.taken;
      this.stop();
      emit("trouble", new Error(S.own.taken));
      return;
    }
    guests.set(this.name, this);
    emit("guests");
    const wait = code === NOT_NOW ? 200 : Math.min(8000, 300 * 2 ** this.failures);
    setTimeout(() => this.ended || this.open().catch(() => this.lost(0)), wait);
  }

  /** A video is over: its camera goes, its last picture stays until it is stopped. */
  finish() {
    this.problem = S.own.ended;
    emit("guests");
  }

  async again() {
    this.problem = "";
    this.stamp = undefined;
    await this.video.play();
    this.send();
    emit("guests");
  }

  stop() {
    this.ended = true;
    guests.delete(this.name);
    stopped.set(this.name, performance.now());
    hangUp(this.socket);
    this.video.pause();
    this.release();
    emit("guests");
  }
}

function player() {
  const video = h("video", { playsinline: true });
  video.muted = true;
  return video;
}

async function begin(guest) {
  try {
    await guest.open();
  } catch (error) {
    guest.stop();
    throw error;
  }
  return guest;
}

/** The camera of this computer. Throws a sentence. */
export async function useCamera() {
  await ensureSignedIn();
  if (!navigator.mediaDevices?.getUserMedia) throw new Error(S.own.insecure);
  let stream;
  const video = player();
  try {
    const wish = { width: { ideal: WIDEST }, height: { ideal: HIGHEST }, frameRate: { ideal: 30 } };
    stream = await navigator.mediaDevices.getUserMedia({ video: wish, audio: false });
    video.srcObject = stream;
    await video.play();
  } catch (error) {
    for (const track of stream?.getTracks() ?? []) track.stop();
    throw new Error(ERRORS[error.name] ?? S.own.other(error.message), { cause: error });
  }
  const release = () => {
    for (const track of stream.getTracks()) track.stop();
    video.srcObject = null;
  };
  const guest = new Guest(video, S.own.name, release);
  // Unplugged while it runs.
  stream.getVideoTracks()[0]?.addEventListener("ended", () => {
    guest.stop();
    emit("trouble", new Error(S.own.none));
  });
  return begin(guest);
}

/** A video file: this browser plays it, the file itself is not sent. Throws a sentence. */
export async function useFile(file) {
  await ensureSignedIn();
  const video = player();
  const address = URL.createObjectURL(file);
  const release = () => {
    video.removeAttribute("src");
    video.load();
    URL.revokeObjectURL(address);
  };
  try {
    video.src = address;
    await video.play();
    video.pause(); // until the service listens: a short video could end before
  } catch (error) {
    release();
    throw new Error(S.own.badVideo, { cause: error });
  }
  return begin(new Guest(video, fileName(file.name), release));
}

/** A camera's name may hold letters, digits, spaces and . _ - */
function fileName(name) {
  const plain = name.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}_. -]/gu, "").replace(/^[^\p{L}\p{N}_]+/u, "").slice(0, 40).trim();
  return plain || S.own.fileName;
}

addEventListener("pagehide", () => {
  for (const guest of [...guests.values()]) hangUp(guest.socket);
});
