import type { SegmenterParameters } from '../../recognition/segmenter-parameters.js'
import { flag, oneOfWords, wholeNumberFrom, wholeNumberOr } from '../core/node-options.js'

const longestMs = 86_400_000

/** The options of nodes that cut speech into segments; the ranges are those of `recognize` (service.md 4.2). */
export const voiceOptions = {
  splitter: oneOfWords('realtime-vad', 'audio-segmenter'),
  sensitivity: wholeNumberFrom(1, 10),
  preSpeechMs: wholeNumberFrom(0, 5000),
  postSpeechMs: wholeNumberFrom(0, 5000),
  maxSpeechMs: wholeNumberOr(-1, 1000, longestMs),
  silenceTriggerMs: wholeNumberFrom(50, 60_000),
  onsetMs: wholeNumberFrom(0, 1000),
  closeAfterSilentWallMs: wholeNumberFrom(0, 60_000),
  channel: wholeNumberFrom(0, 1),
  fromSettings: flag,
}

/** The segmenter's parameters among a node's options, those that are there. */
export const segmenterOptions = ({
  splitter,
  sensitivity,
  preSpeechMs,
  postSpeechMs,
  maxSpeechMs,
  silenceTriggerMs,
  gracefulSilenceMs,
  onsetMs,
}: Partial<SegmenterParameters>): Partial<SegmenterParameters> => {
  const all = {
    splitter,
    sensitivity,
    preSpeechMs,
    postSpeechMs,
    maxSpeechMs,
    silenceTriggerMs,
    gracefulSilenceMs,
    onsetMs,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}
