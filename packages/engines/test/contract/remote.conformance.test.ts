import { describe } from 'vitest'
import { remote } from '../../src/remote/remote.js'
import { recording, recordingsAreHere, recordingsTitle, withLineNoise } from '../recordings.js'
import { farService } from '../remote/far-service.js'
import { tcpProxy } from '../../../../test/transport/tcp-proxy.js'
import { engineConformance } from './engine-conformance.js'

describe.skipIf(!recordingsAreHere)(recordingsTitle, () => {
  engineConformance(
    'remote',
    async () => {
      const far = await farService()
      const proxy = await tcpProxy(Number(new URL(far.service.started.wsUrl).port))
      const model = far.model({ url: `ws://127.0.0.1:${proxy.port}`, segmentsAtOnce: 2 })
      return {
        engine: await remote().open(model),
        crash: () => proxy.cut(),
        release: async () => {
          await proxy.close()
          await far.close()
        },
      }
    },
    {
      speech: async () => withLineNoise(await recording('seven-of-clubs.wav')),
      text: /^seven of clubs$/,
      openWrongRate: () =>
        remote().open({
          tenant: 'Default',
          name: 'far',
          version: '1',
          folder: '/',
          options: {
            engine: 'remote',
            url: 'ws://127.0.0.1:1',
            authUrl: 'http://127.0.0.1:1',
            clientId: 'client',
            secretFrom: { env: 'HOME' },
            model: 'cards',
            sampleRateHz: 11_025,
          },
        }),
    },
  )
})
