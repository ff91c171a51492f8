import type { ServerResponse } from 'node:http'
import { unreadAnswerMs } from '../conversation/send-answer.js'
import type { RecordingListener, Transcription } from '../conversation/transcribe.js'
import { refuseAsOpenAi } from '../openai-errors/openai-error.js'
import { textOf } from './formats.js'

/**
 * Sends a transcription as server-sent events: each definitive text as a delta, then all of it. An error before the
 * first one is thrown, so that the request is refused by its status; later it is an event.
 */
export const streamTranscription = async (
  response: ServerResponse,
  transcribe: (listener: RecordingListener) => Promise<Transcription>,
): Promise<void> => {
  const send = (event: object): void => {
    if (!response.headersSent)
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
    response.write(`data: ${JSON.stringify(event)}\n\n`)
  }
  try {
    const transcription = await transcribe({
      milestone: ({ text }) => send({ type: 'transcript.text.delta', delta: text }),
    })
    send({ type: 'transcript.text.done', text: textOf(transcription) })
  } catch (error) {
    const refusal = response.headersSent ? refuseAsOpenAi(error) : undefined
    if (refusal === undefined) throw error
    response.write(`event: error\ndata: ${refusal.body}\n\n`)
  }
  response.setTimeout(unreadAnswerMs)
  response.end()
}
