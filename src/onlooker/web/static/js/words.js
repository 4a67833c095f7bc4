// Descriptions in words: the shares of a face, its state, and events.

import { moment } from "./clock.js";
import { S } from "./strings.js";

const MOST = 4;
const hundredths = (share) => Math.round(100 * share);

/** "of the walks from this face 93 % end at Ana, 5 % end nowhere" */
export function walkWords(scores, sink) {
  const named = Object.entries(scores)
    .map(([name, share]) => ({ name, times: hundredths(share) }))
    .filter((one) => one.times > 0)
    .sort((one, other) => other.times - one.times);
  if (!named.length) return S.face.noWalk;
  const ends = named.slice(0, MOST).map((one) => [(times) => S.face.at(one.name, times), one.times]);
  const nowhere = hundredths(sink ?? 0);
  if (nowhere > 0) ends.push([S.face.nowhere, nowhere]);
  const parts = ends.map(([say, times]) => say(S.face.times(times)));
  return S.face.walk(parts.join(S.face.and));
}

/** The name on a face's box: that of the track, or of this frame. */
export const nameOf = (face) => face.name ?? face.answer.name;

/** known, unsure, nobody or poor; derived from the names if the service does not give it. */
export function stateOf(face) {
  if (face.state) return face.state;
  if (face.name !== null) return face.answer.name === face.name ? "known" : "unsure";
  return face.answer.refusal ? "poor" : "nobody";
}

/** Why a face is too poor, in words. */
export const reasonWords = (refusal) => S.face.reasons[refusal?.reason] ?? refusal?.reason ?? S.face.poorReason;

/** The short text on the box. */
export function shortWords(face) {
  const name = nameOf(face);
  switch (stateOf(face)) {
    case "known": {
      const share = face.answer.scores[name];
      return S.face.known(name, share === undefined ? null : hundredths(share));
    }
    case "unsure":
      return S.face.unsure(name);
    case "poor":
      return S.face.poor(reasonWords(face.answer.refusal));
    default:
      return face.answer.candidate ? S.face.maybe(face.answer.candidate) : S.face.nobody;
  }
}

/** The sentence below the picture. */
export function longWords(face) {
  const { answer } = face;
  const name = nameOf(face);
  const walk = answer.sink === null ? "" : ` ${walkWords(answer.scores, answer.sink)}.`;
  switch (stateOf(face)) {
    case "known":
      return walk ? S.face.describeKnown(name) + walk : S.face.byVote(name);
    case "unsure":
      if (answer.name === null && face.name !== null) return S.face.byVote(name);
      return (answer.name === name ? S.face.describeUnsure(name) : S.face.byVoteBut(name)) + walk;
    case "poor":
      return S.face.describePoor(reasonWords(answer.refusal));
    default:
      return answer.candidate ? S.face.describeMaybe(answer.candidate) : S.face.describeNobody;
  }
}

/** The state of a camera. */
export function cameraWords(camera) {
  if (camera.state === "failing" && camera.since) return S.live.failingSince(moment(camera.since));
  return S.live.states[camera.state] ?? camera.state;
}

/** The changes of one event. */
export function eventWords(changes, most = 3) {
  const said = changes.map(changeWords);
  const rest = said.length - most;
  if (rest > 0) said.splice(most, rest, S.events.more(rest));
  return said.join("; ");
}

function changeWords([kind, first, second, third]) {
  const say = S.events.describe;
  switch (kind) {
    case "new":
      return third ? say.newNamed(first, third) : say.new(first);
    case "absorbed":
      return second > 1 ? say.absorbedMany(first, second) : say.absorbed(first);
    case "camera":
      return say.camera(first, S.fromService(second ?? ""));
    case "names":
      return first.length ? say.names(first.join(", ")) : say.noNames;
    default:
      return (say[kind] ?? (() => say.other(kind)))(first, second, third);
  }
}
