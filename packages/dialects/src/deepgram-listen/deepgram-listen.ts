import type { ServerResponse } from 'node:http'
import type { Dialect, DialectClient, NamedModel } from 'rxspeech-server/listen/dialect'
import type { RecordingIntake } from '../conversation/recording-intake.js'
import { sendAnswer } from '../conversation/send-answer.js'
import { Upload } from '../conversation/upload.js'
import { DeepgramError, modelNotFound, refuseAsDeepgram } from './deepgram-error.js'
import { ListenSession } from './listen-session.js'
import { readOptions, type ListenOptions } from './options.js'
import { transcribeRecording } from './recording.js'

const path = /^\/v1\/listen$/

/** `/v1/listen` of the Deepgram interface: a socket, and `POST` for recordings. */
export const deepgramListen = (intake: RecordingIntake): Dialect => ({
  name: 'deepgram-listen',
  requestIdHeader: 'dg-request-id',
  routes: [{ method: 'POST', path, answer: (client, response) => answerRecording(intake, client, response) }],
  sockets: [
    {
      path,
      accept: async (client) => {
        const { options, model } = readRequest(client, 'socket')
        const session = await ListenSession.open(client, model, options)
        return (socket) => session.serve(socket)
      },
    },
  ],
  refuse: refuseAsDeepgram,
})

const readRequest = (
  { url, findModel }: DialectClient,
  kind: 'socket' | 'recording',
): { readonly options: ListenOptions; readonly model: NamedModel } => {
  const options = readOptions(url.searchParams, kind)
  const model = findModel(options.model)
  if (model === undefined) throw modelNotFound(options.model)
  return { options, model }
}

const answerRecording = async (
  intake: RecordingIntake,
  client: DialectClient,
  response: ServerResponse,
): Promise<void> => {
  const { request } = client
  const { options, model } = readRequest(client, 'recording')
  if (/^application\/json\b/i.test(request.headers['content-type'] ?? '')) throw noAddresses()
  const answer = await intake.receive(
    client,
    async (bounds) => ({ file: await Upload.ofBody(request, bounds) }),
    ({ file }, open) => {
      // The request is complete, and nothing may be sent before the end; the limits of the session remain.
      response.setTimeout(0)
      return transcribeRecording(client, model, options, file, open)
    },
  )
  await sendAnswer(response, { contentType: 'application/json', body: JSON.stringify(answer) })
}

const noAddresses = (): DeepgramError =>
  new DeepgramError(400, 'Bad Request', 'The service does not load addresses; send the recording itself as the body.')
