"use strict";

const API = "/api/v1";
const SHOWN = 50;
const $ = (id) => document.getElementById(id);
const socketTo = (path) =>
  new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`);

function element(kind, text) {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = text;
  return made;
}

async function get(path) {
  const answer = await fetch(API + path);
  if (!answer.ok) throw new Error((await answer.json()).detail);
  return answer.json();
}

function figureOf(camera) {
  const figure = element("figure");
  figure.dataset.name = camera.name;
  const picture = element("img");
  picture.alt = `live view of ${camera.name}`;
  picture.src = `/live/${encodeURIComponent(camera.name)}.mjpeg`;
  figure.append(picture, element("figcaption"));
  return figure;
}

function showCameras(cameras) {
  const there = new Map([...$("cameras").children].map((one) => [one.dataset.name, one]));
  for (const camera of cameras) {
    const figure = there.get(camera.name) ?? figureOf(camera);
    there.delete(camera.name);
    const trouble = camera.problem ? `: ${camera.problem}` : "";
    figure.lastChild.textContent = `${camera.name} (${camera.state}${trouble})`;
    if (!figure.isConnected) $("cameras").append(figure);
  }
  for (const gone of there.values()) gone.remove();
}

async function refresh() {
  try {
    const [health, cameras, people] = await Promise.all(
      ["/health", "/cameras", "/people"].map(get),
    );
    $("health").textContent = health.read_only ?? health.problems[0] ?? "";
    showCameras(cameras);
    $("people").replaceChildren(
      ...people.map((one) =>
        element("li", `${one.name}: ${one.labeled} labeled, ${one.learned} learned faces`),
      ),
    );
  } catch (error) {
    $("health").textContent = error.message;
  }
}

function listen() {
  const socket = socketTo(`${API}/live`);
  socket.onmessage = ({ data }) => {
    const result = JSON.parse(data);
    for (const face of result.faces.filter((one) => one.name !== null)) {
      const sure = face.answer.confidence === null ? "" : ` ${Math.round(100 * face.answer.confidence)} %`;
      $("seen").prepend(element("li", `${result.camera}: ${face.name}${sure}`));
    }
    while ($("seen").children.length > SHOWN) $("seen").lastChild.remove();
  };
  socket.onclose = () => setTimeout(listen, 3000);
}

async function useOwnCamera() {
  $("own").disabled = true;
  const video = element("video");
  video.muted = true;
  video.srcObject = await navigator.mediaDevices.getUserMedia({ video: { width: 640 } });
  await video.play();
  const canvas = element("canvas");
  [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
  const socket = socketTo(`${API}/browser/browser-${Math.floor(1e6 * Math.random())}`);
  const send = () => {
    canvas.getContext("2d").drawImage(video, 0, 0);
    canvas.toBlob((jpeg) => socket.readyState === 1 && socket.send(jpeg), "image/jpeg", 0.9);
  };
  socket.onopen = send;
  socket.onmessage = () => setTimeout(send, 40);
  socket.onclose = () => {
    for (const track of video.srcObject.getTracks()) track.stop();
    $("own").disabled = false;
  };
}

$("own").addEventListener("click", () =>
  useOwnCamera().catch((error) => {
    $("health").textContent = error.message;
    $("own").disabled = false;
  }),
);
refresh();
setInterval(refresh, 3000);
listen();
