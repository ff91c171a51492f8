import type { ServerResponse } from 'node:http'
import { unreadAnswerMs } from '../conversation/send-answer.js'
import type { RecordingListener, Transcription } from '../conversation/transcribe.js'
import { refuseAsOpenAi } from '../openai-errors/openai-error.js'
import { textOf } from './formats.js'

/**
 * Sends a transcription as server-sent events: each definitive text as a delta, then all of it. An error before the
 * first one is thrown, so that the request is refused by its status; later it is an event. A client that stops to read
 * loses its connection.
 */
export const streamTranscription = async (
  response: ServerResponse,
  transcribe: (listener: RecordingListener) => Promise<Transcription>,
  timeoutMs = unreadAnswerMs,
): Promise<void> => {
  /** There is no timeout while the client has read everything, because the recognition may take its time. */
  const write = (text: string): void => {
    const isWaiting = response.writableNeedDrain
    if (response.write(text) || isWaiting) return
    response.setTimeout(timeoutMs)
    response.once('drain', () => {
      if (!response.writableEnded) response.setTimeout(0)
    })
  }
  const send = (event: object): void => {
    if (!response.headersSent)
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
    write(`data: ${JSON.stringify(event)}\n\n`)
  }
  try {
    const transcription = await transcribe({
      milestone: ({ text }) => send({ type: 'transcript.text.delta', delta: text }),
    })
    send({ type: 'transcript.text.done', text: textOf(transcription) })
  } catch (error) {
    const refusal = response.headersSent ? refuseAsOpenAi(error) : undefined
    if (refusal === undefined) throw error
    write(`event: error\ndata: ${refusal.body}\n\n`)
  }
  response.setTimeout(timeoutMs)
  response.end()
}
