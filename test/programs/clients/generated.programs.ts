// Tests clients that public generators create from the /openapi.json of a running service: each compiles, receives
// audio, and reads an error. openapi-generator needs Java; its clients for Go and Java need packages.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { isInstalled } from '../../programs.ts';
import { openTestGateway } from '../../transports/http/open-gateway.ts';
import { findPython } from './client-programs.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');
const python = findPython('generators.txt');
const hasJava = python !== undefined && isInstalled('javac');
const gateway = await openTestGateway({}, afterAll);
const folder = mkdtempSync(join(tmpdir(), 'sonant-generated-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Generates a client with openapi-generator. Returns its folder. */
async function generate(language: string, ...more: string[]): Promise<string> {
  const out = join(folder, language);
  const tool = ['-c', 'import openapi_generator_cli; openapi_generator_cli.cli()'];
  const args = [...tool, 'generate', '-i', `${gateway.url}/openapi.json`, '-g', language, '-o', out, ...more];
  await run(python!, args);
  return out;
}
/** Runs a program in a folder. Returns its last lines: the length and the start of the audio, and the error. */
async function play(cwd: string, program: string, ...args: string[]): Promise<string[]> {
  const env = { ...process.env, GOFLAGS: '-mod=mod', SONANT_URL: gateway.url, SONANT_API_KEY: gateway.key };
  const { stdout } = await run(program, args, { cwd, env }).catch((fault: { stdout: string; stderr: string }) => {
    throw new Error(`${program}: ${fault.stdout}${fault.stderr}`);
  });
  return stdout.trim().split('\n').slice(-2);
}
const heard = [expect.stringMatching(/^\d{5,} RIFF$/), '404 voice_not_found'];
const minutes = 60_000;

test.skipIf(!python)(
  'openapi-python-client',
  async () => {
    const config = join(folder, 'config.yaml');
    writeFileSync(config, 'content_type_overrides: {"audio/wav": "application/octet-stream"}\n');
    const out = join(folder, 'plain');
    const args = ['-m', 'openapi_python_client', 'generate', '--url', `${gateway.url}/openapi.json`];
    await run(python!, [...args, '--config', config, '--output-path', out]);
    const program = `
import os
from sonant_client import AuthenticatedClient
from sonant_client.api.speech import synthesize_audio
from sonant_client.models import AudioRequest
client = AuthenticatedClient(
    base_url=os.environ["SONANT_URL"], token=os.environ["SONANT_API_KEY"], auth_header_name="X-API-Key", prefix="")
audio = synthesize_audio.sync(client=client, body=AudioRequest("tone-low", text="Hello there.")).payload.read()
print(len(audio), audio[:4].decode())
refused = synthesize_audio.sync(client=client, body=AudioRequest("nobody", text="Hello."))
print(refused.status, refused.error)
`;
    expect(await play(out, python!, '-c', program)).toEqual(heard);
    await run(python!, ['-m', 'compileall', '-q', 'sonant_client'], { cwd: out });
  },
  2 * minutes,
);

test.skipIf(!hasJava)(
  'openapi-generator, Python',
  async () => {
    const out = await generate('python');
    const program = `
import os
import openapi_client as sonant
from openapi_client.models import *
configuration = sonant.Configuration(host=os.environ["SONANT_URL"], api_key={"apiKey": os.environ["SONANT_API_KEY"]})
speech = sonant.SpeechApi(sonant.ApiClient(configuration))
audio = speech.synthesize_audio(AudioRequest(voice_id="tone-low", text="Hello there."))
print(len(audio), bytes(audio[:4]).decode())
try:
    speech.synthesize_speech(SpeechRequest(voice_id="nobody", text="Hello."))
except sonant.exceptions.NotFoundException as refused:
    print(refused.status, refused.data.error)
`;
    expect(await play(out, python!, '-c', program)).toEqual(heard);
  },
  2 * minutes,
);

test.skipIf(!hasJava)(
  'openapi-generator, TypeScript',
  async () => {
    const out = await generate('typescript-fetch');
    const program = `
import { Configuration, ResponseError, SpeechApi } from './index';
declare const process: { env: Record<string, string> };
const { SONANT_URL: basePath, SONANT_API_KEY: apiKey } = process.env;
const speech = new SpeechApi(new Configuration({ basePath, apiKey }));
void (async () => {
  const audio = await speech.synthesizeAudio({ audioRequest: { voiceId: 'tone-low', text: 'Hello there.' } });
  console.log(audio.size, await audio.slice(0, 4).text());
  await speech.synthesizeAudio({ audioRequest: { voiceId: 'nobody', text: 'Hello.' } }).catch(async (error) => {
    const { response } = error as ResponseError;
    console.log(response.status, (await response.json()).error);
  });
})();
`;
    writeFileSync(join(out, 'speak.ts'), program);
    const flags = ['--strict', '--skipLibCheck', '--target', 'es2024', '--lib', 'es2024,dom,dom.iterable'];
    const modules = ['--module', 'commonjs', '--moduleResolution', 'bundler', '--outDir', 'made'];
    await play(
      out,
      join(root, 'node_modules/.bin/tsc'),
      '--ignoreConfig',
      ...flags,
      ...modules,
      'speak.ts',
      'index.ts',
    );
    expect(await play(out, 'node', 'made/speak.js')).toEqual(heard);
  },
  2 * minutes,
);

test.skipIf(!hasJava || !isInstalled('go'))(
  'openapi-generator, Go',
  async () => {
    const out = await generate('go', '--git-user-id', 'sonant', '--git-repo-id', 'client');
    rmSync(join(out, 'test'), { recursive: true });
    const program = `package main

import (
	"context"
	"fmt"
	"io"
	"os"

	sonant "github.com/sonant/client"
)

func main() {
	configuration := sonant.NewConfiguration()
	configuration.Servers = sonant.ServerConfigurations{{URL: os.Getenv("SONANT_URL")}}
	keys := map[string]sonant.APIKey{"apiKey": {Key: os.Getenv("SONANT_API_KEY")}}
	withKey := context.WithValue(context.Background(), sonant.ContextAPIKeys, keys)
	speech := sonant.NewAPIClient(configuration).SpeechAPI
	request := sonant.NewAudioRequest("tone-low")
	request.SetText("Hello there.")
	file, _, err := speech.SynthesizeAudio(withKey).AudioRequest(*request).Execute()
	if err != nil {
		panic(err)
	}
	audio, _ := io.ReadAll(file)
	fmt.Println(len(audio), string(audio[:4]))
	request.SetVoiceId("nobody")
	_, response, err := speech.SynthesizeAudio(withKey).AudioRequest(*request).Execute()
	failure := err.(*sonant.GenericOpenAPIError).Model().(sonant.Failure)
	fmt.Println(response.StatusCode, failure.GetError())
}
`;
    mkdirSync(join(out, 'speak'));
    writeFileSync(join(out, 'speak/main.go'), program);
    await play(out, 'go', 'mod', 'tidy');
    expect(await play(out, 'go', 'run', './speak')).toEqual(heard);
  },
  5 * minutes,
);

test.skipIf(!hasJava || !isInstalled('mvn'))(
  'openapi-generator, Java',
  async () => {
    const out = await generate('java', '--library', 'native');
    const program = `
import java.nio.file.Files;
import org.openapitools.client.*;
import org.openapitools.client.api.SpeechApi;
import org.openapitools.client.model.*;

public class Speak {
  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("SONANT_URL"));
    client.setRequestInterceptor((request) -> request.header("X-API-Key", System.getenv("SONANT_API_KEY")));
    SpeechApi speech = new SpeechApi(client);
    AudioRequest request = new AudioRequest().voiceId("tone-low").text("Hello there.");
    byte[] audio = Files.readAllBytes(speech.synthesizeAudio(request, null).toPath());
    System.out.println(audio.length + " " + new String(audio, 0, 4));
    try {
      speech.synthesizeAudio(request.voiceId("nobody"), null);
    } catch (ApiException refused) {
      Failure failure = client.getObjectMapper().readValue(refused.getResponseBody(), Failure.class);
      System.out.println(refused.getCode() + " " + failure.getError());
    }
  }
}
`;
    writeFileSync(join(out, 'src/main/java/Speak.java'), program);
    const goals = ['compile', 'dependency:build-classpath', '-Dmdep.outputFile=classpath'];
    await play(out, 'mvn', '--quiet', '--batch-mode', ...goals);
    const classpath = `target/classes:${readFileSync(join(out, 'classpath'), 'utf8')}`;
    expect(await play(out, 'java', '-cp', classpath, 'Speak')).toEqual(heard);
  },
  5 * minutes,
);
