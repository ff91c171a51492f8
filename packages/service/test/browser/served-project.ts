import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { nodeFetch } from '../../../../src/auth/node-fetch.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import { noLoadLimits } from '../plain-service.js'
import { startDevelopmentService } from '../../src/start/development-service.js'
import { callModels, credentialsOf } from '../interop/live-service.js'
import { createPageProject, serveWithVite } from './page-project.js'
import { writeSpokenWav } from './spoken-wav.js'

/** A project in the development server of Vite, with a service and the beginning of the sample call. */
export interface ServedProject {
  /** With a slash at its end. */
  readonly url: string
  readonly folder: string
  /** The first sentence of the call, as a microphone. */
  readonly wav: string
  readonly close: () => Promise<void>
}

/** Pages find the address of the service, a token and the model in `/session.json`. */
export const serveProject = async (
  files: Readonly<Record<string, string>>,
  packages: readonly string[] = [],
): Promise<ServedProject> => {
  const folder = await mkdtemp(join(tmpdir(), 'rxspeech-frameworks-'))
  const service = await startDevelopmentService({
    modelFolders: [callModels],
    stateFolder: join(folder, 'state'),
    http: { host: '127.0.0.1', port: 0 },
    grpc: { host: '127.0.0.1', port: 0 },
    limits: noLoadLimits,
  })
  const fetch = nodeFetch({ ca: await readFile(service.access.ca) })
  const { accessToken: token } = await firstValueFrom(requestToken({ ...credentialsOf(service.access), fetch }))
  const session = JSON.stringify({ url: service.access.wsUrl, token, model: 'call' })
  const project = createPageProject({ ...files, 'public/session.json': session }, packages)
  const page = await serveWithVite(project.folder)
  const wav = join(folder, 'greeting.wav')
  await writeSpokenWav(wav, [{ fromMs: 0, toMs: 3_600 }])
  return {
    url: page.url,
    folder: project.folder,
    wav,
    close: async () => {
      await page.close()
      project.remove()
      await service.close({ drainMs: 1_000 })
      await rm(folder, { recursive: true })
    },
  }
}
