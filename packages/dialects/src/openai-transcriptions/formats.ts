import { deflateSync } from 'node:zlib'
import { firstValueFrom, from, reduce } from 'rxjs'
import { toSrt, toWebVtt } from 'rxspeech/internal/operators/captions/caption-files'
import { toCaptions } from 'rxspeech/internal/operators/captions/to-captions'
import type { MilestoneEvent } from 'rxspeech/internal/protocol/session-event'
import type { Written } from '../conversation/send-answer.js'
import type { ChannelMilestone, Transcription } from '../conversation/transcribe.js'
import type { ResponseFormat, TranscriptionOptions } from './options.js'

/** Writes a transcription in the format that was asked for. */
export const writeTranscription = async (
  transcription: Transcription,
  options: TranscriptionOptions,
): Promise<Written> => {
  const write = writers[options.format]
  const body = await write(transcription, options)
  return typeof body === 'string'
    ? { contentType: 'text/plain; charset=utf-8', body }
    : { contentType: 'application/json', body: JSON.stringify(body) }
}

type Writer = (
  transcription: Transcription,
  options: TranscriptionOptions,
) => string | object | Promise<string | object>

/** The whole text. The first of each channel has no separator. */
export const textOf = ({ milestones }: Transcription): string =>
  milestones
    .map(({ text, channel }, at) => (channel === milestones[at - 1]?.channel ? text : ` ${text.trimStart()}`))
    .join('')
    .trim()

const usageOf = ({ durationMs }: Transcription) => ({ type: 'duration', seconds: Math.ceil(durationMs / 1000) })

const secondsOf = (ms = 0): number => ms / 1000

const writers: Readonly<Record<ResponseFormat, Writer>> = {
  json: (transcription) => ({ text: textOf(transcription), usage: usageOf(transcription) }),
  text: (transcription) => `${textOf(transcription)}\n`,
  srt: ({ milestones }) => firstValueFrom(captionsOf(milestones).pipe(toSrt(), joined)),
  vtt: ({ milestones }) => firstValueFrom(captionsOf(milestones).pipe(toWebVtt(), joined)),
  verbose_json: (transcription, { granularities, parameters: { language } }) => ({
    task: 'transcribe',
    // A model does not say which language it detected.
    language: language ?? 'unknown',
    duration: secondsOf(transcription.durationMs),
    text: textOf(transcription),
    ...(granularities.includes('segment') && { segments: transcription.milestones.map(segmentOf) }),
    ...(granularities.includes('word') && { words: transcription.milestones.flatMap(wordsOf) }),
    usage: usageOf(transcription),
  }),
  diarized_json: (transcription) => ({
    task: 'transcribe',
    duration: secondsOf(transcription.durationMs),
    text: textOf(transcription),
    segments: transcription.milestones.map(({ text, startMs, endMs, channel }, at) => ({
      type: 'transcript.text.segment',
      id: `seg_${at}`,
      start: secondsOf(startMs),
      end: secondsOf(endMs),
      text: text.trim(),
      speaker: speakers[channel],
    })),
    usage: usageOf(transcription),
  }),
}

/** The names of the channels. */
const speakers = ['A', 'B'] as const

/** All fields are there, because clients check them; those that only another decoder has are 0 or empty. */
const segmentOf = ({ text, startMs, endMs, confidence }: ChannelMilestone, id: number) => ({
  id,
  seek: 0,
  start: secondsOf(startMs),
  end: secondsOf(endMs),
  text,
  tokens: [],
  temperature: 0,
  avg_logprob: confidence === undefined || confidence === 0 ? 0 : Math.log(confidence),
  compression_ratio: compressionRatio(text),
  no_speech_prob: 0,
})

const compressionRatio = (text: string): number => {
  const bytes = Buffer.from(text)
  return bytes.length / deflateSync(bytes).length
}

const wordsOf = ({ words = [] }: ChannelMilestone) =>
  words.map(({ text, startMs, endMs }) => ({ word: text, start: secondsOf(startMs), end: secondsOf(endMs) }))

const captionsOf = (milestones: readonly ChannelMilestone[]) =>
  from(
    milestones.map(({ text, startMs = 0, endMs = 0, words }): MilestoneEvent => {
      const place = { type: 'milestone', text, channel: 0, startMs, endMs } as const
      return words === undefined ? place : { ...place, words }
    }),
  ).pipe(toCaptions())

const joined = reduce((file: string, block: string) => file + block, '')
