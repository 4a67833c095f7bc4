// A camera of this browser, or a video file it plays, sent to the service one frame at a time. The
// frame that was sent stays on its canvas until its boxes are drawn, so that they match.

import { closeSocket, get, part, socketAddress } from "./api.js";
import { emit } from "./bus.js";
import { h } from "./dom.js";
import { record } from "./latency.js";
import { ensureSignedIn } from "./session.js";
import { S } from "./strings.js";

const WIDEST = 640;
const HIGHEST = 480;
const PAUSE = 40;
const TRY_LATER = 1013;
const NAMES = 16;
const ERRORS = {
  NotAllowedError: S.own.refused, SecurityError: S.own.refused, NotFoundError: S.own.none,
  OverconstrainedError: S.own.none, NotReadableError: S.own.inUse, AbortError: S.own.inUse,
};

/** The cameras of this tab by name. They keep running while other views are open. */
export const ownCameras = new Map();
const stopped = new Map();

/** Whether it was stopped within seconds: the service may still list it. */
export const justStopped = (name) => performance.now() - (stopped.get(name) ?? -Infinity) < 5000;

class BrowserCamera {
  constructor(video, base, release) {
    Object.assign(this, { video, base, release, name: base, socket: null, ended: false, problem: "", failures: 0 });
    this.frame = h("canvas", {});
    this.context = this.frame.getContext("2d", { alpha: false });
    this.show = null;
    this.attempt = 0;
    video.addEventListener("ended", () => this.finish());
  }

  /** Connect under a free name: another tab may use the first one. */
  async open() {
    const taken = new Set((await get("/cameras")).map((camera) => camera.name));
    do {
      this.attempt += 1;
      this.name = this.attempt > 1 ? `${this.base} ${this.attempt}` : this.base;
    } while (taken.has(this.name) && this.attempt < NAMES);
    this.socket = new WebSocket(socketAddress(`/browser/${part(this.name)}`));
    this.socket.onopen = async () => {
      ownCameras.set(this.name, this);
      this.problem = "";
      emit("ownCameras");
      if (!this.video.ended) await this.video.play().catch(() => {}); // without a frame, none is sent
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

  /** Wait until the video shows a frame that was not sent yet. */
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
      record(milliseconds);
      this.show?.(result, this.frame, { milliseconds });
      if (this.video.ended) emit("ownCameras"); // shows the note over the last picture again
      else this.problem = "";
    } else {
      this.problem = result.detail ?? "";
      emit("ownCameras");
    }
    setTimeout(() => this.send(), Math.max(0, PAUSE - milliseconds));
  }

  lost(code) {
    this.socket = null;
    ownCameras.delete(this.name);
    if (this.ended) return;
    this.video.pause(); // a video file continues here once the service is back
    this.failures += 1;
    if (code !== TRY_LATER) this.attempt = 0; // after a loss of the service the first name is free again
    this.problem = S.live.reconnecting;
    if (this.attempt >= NAMES) {
      this.problem = S.own.taken;
      this.stop();
      emit("error", new Error(S.own.taken));
      return;
    }
    ownCameras.set(this.name, this);
    emit("ownCameras");
    const wait = code === TRY_LATER ? 200 : Math.min(8000, 300 * 2 ** this.failures);
    setTimeout(() => this.ended || this.open().catch(() => this.lost(0)), wait);
  }

  /** The video has ended: its last picture stays until the user stops it. */
  finish() {
    this.problem = S.own.ended;
    emit("ownCameras");
  }

  async again() {
    this.problem = "";
    this.stamp = undefined;
    await this.video.play();
    this.send();
    emit("ownCameras");
  }

  stop() {
    this.ended = true;
    ownCameras.delete(this.name);
    stopped.set(this.name, performance.now());
    closeSocket(this.socket);
    this.video.pause();
    this.release();
    emit("ownCameras");
  }
}

function player() {
  const video = h("video", { playsinline: true });
  video.muted = true;
  return video;
}

async function begin(camera) {
  try {
    await camera.open();
  } catch (error) {
    camera.stop();
    throw error;
  }
  return camera;
}

/** Start the camera of this computer. Throws an Error with a readable message. */
export async function useCamera() {
  await ensureSignedIn();
  if (!navigator.mediaDevices?.getUserMedia) throw new Error(S.own.insecure);
  let stream;
  const video = player();
  try {
    const constraints = { width: { ideal: WIDEST }, height: { ideal: HIGHEST }, frameRate: { ideal: 30 } };
    stream = await navigator.mediaDevices.getUserMedia({ video: constraints, audio: false });
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
  const camera = new BrowserCamera(video, S.own.name, release);
  // The camera was disconnected while running.
  stream.getVideoTracks()[0]?.addEventListener("ended", () => {
    camera.stop();
    emit("error", new Error(S.own.none));
  });
  return begin(camera);
}

/** Play a video file and send its frames. Throws an Error with a readable message. */
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
    video.pause(); // until the service is connected: a short video could end before
  } catch (error) {
    release();
    throw new Error(S.own.badVideo, { cause: error });
  }
  return begin(new BrowserCamera(video, fileName(file.name), release));
}

/** A valid camera name from a file name: letters, digits, spaces and . _ - */
function fileName(name) {
  const plain = name.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}_. -]/gu, "").replace(/^[^\p{L}\p{N}_]+/u, "").slice(0, 40).trim();
  return plain || S.own.fileName;
}

addEventListener("pagehide", () => {
  for (const camera of [...ownCameras.values()]) closeSocket(camera.socket);
});
