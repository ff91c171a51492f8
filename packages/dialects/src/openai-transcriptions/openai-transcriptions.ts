import type { ServerResponse } from 'node:http'
import type { Dialect, DialectClient, NamedModel } from 'rxspeech-server/listen/dialect'
import type { RecordingIntake } from '../conversation/recording-intake.js'
import { mixChannels, type Recording } from '../conversation/recording.js'
import { sendAnswer } from '../conversation/send-answer.js'
import { transcribe, type RecordingListener, type Transcription } from '../conversation/transcribe.js'
import { invalidField, modelNotFound, OpenAiError, refuseAsOpenAi } from '../openai-errors/openai-error.js'
import { streamTranscription } from './event-stream.js'
import { readUploadForm, type UploadForm } from './form.js'
import { writeTranscription } from './formats.js'
import { readOptions } from './options.js'

/** `POST /v1/audio/transcriptions` and `GET /v1/models` of the OpenAI interface. */
export const openAiTranscriptions = (intake: RecordingIntake): Dialect => ({
  name: 'openai-transcriptions',
  requestIdHeader: 'x-request-id',
  routes: [
    {
      method: 'POST',
      path: /^\/v1\/audio\/transcriptions$/,
      answer: (client, response) =>
        intake.receive(
          client,
          (bounds) => readUploadForm(client.request, bounds),
          ({ fields }, open) => answerTranscription(client, response, fields, open),
        ),
    },
    {
      method: 'GET',
      path: /^\/v1\/models$/,
      answer: async ({ models }, response) => {
        const names = new Map(models.map((model) => [model.name, modelOf(model)]))
        await sendJson(response, { object: 'list', data: [...names.values()] })
      },
    },
    {
      method: 'GET',
      path: /^\/v1\/models\/[^/]+$/,
      answer: async ({ url, findModel }, response) => {
        const name = nameIn(url)
        const model = findModel(name)
        if (model === undefined) throw modelNotFound(name)
        await sendJson(response, { ...modelOf(model), id: name })
      },
    },
    { method: 'POST', path: /^\/audio\/transcriptions$/, answer: withoutVersion },
    { method: 'GET', path: /^\/models$/, answer: withoutVersion },
  ],
  sockets: [],
  refuse: refuseAsOpenAi,
})

/** A client appends the rest of the path to its base address. */
const withoutVersion = (): Promise<never> =>
  Promise.reject(new OpenAiError(404, 'The base address of the client must end with /v1.', 'not_found'))

const answerTranscription = async (
  client: DialectClient,
  response: ServerResponse,
  fields: UploadForm['fields'],
  open: () => Promise<Recording>,
): Promise<void> => {
  const options = readOptions(fields)
  const model = client.findModel(options.model)
  if (model === undefined) throw modelNotFound(options.model)
  // The request is complete, and nothing may be sent before the end; the limits of the session remain.
  response.setTimeout(0)
  const recording = await open()
  const request = {
    modelName: model.name,
    modelTenant: model.tenant,
    gracefulSilenceThresholdMs: 0,
    ...options.parameters,
  } as const
  if (options.format === 'diarized_json' && recording.channelCount === 1) throw oneChannel()
  const heard = options.format === 'diarized_json' ? recording : mixChannels(recording)
  const run = (listener?: RecordingListener): Promise<Transcription> => transcribe(client, request, heard, listener)
  if (options.isStreamed) await streamTranscription(response, run)
  else await sendAnswer(response, await writeTranscription(await run(), options))
}

const oneChannel = (): OpenAiError =>
  invalidField(
    'response_format',
    'diarized_json needs a recording with two channels, which are the two speakers; this one has one channel.',
  )

const modelOf = ({ name, tenant }: NamedModel) => ({ id: name, object: 'model', created: 0, owned_by: tenant })

const nameIn = ({ pathname }: URL): string => {
  const name = pathname.slice(pathname.lastIndexOf('/') + 1)
  try {
    return decodeURIComponent(name)
  } catch {
    throw invalidField('model', 'The address has no valid name of a model.')
  }
}

const sendJson = (response: ServerResponse, body: object): Promise<void> =>
  sendAnswer(response, { contentType: 'application/json', body: JSON.stringify(body) })
