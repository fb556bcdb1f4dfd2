import org.gradle.api.tasks.Sync

plugins {
    id("com.android.application")
    id("org.jetbrains.kotlin.android")
}

// gradle assembleDebug -Pexport=FOLDER: the export whose model the app carries.
val export = file(providers.gradleProperty("export").getOrElse("../../../exports/dates"))
val model by tasks.registering(Sync::class) {
    from(export.resolve("litert")) {
        include("*.json", "*.int8.tflite")
        rename { if (it.endsWith(".json")) "model.json" else "model.tflite" }
    }
    into(layout.buildDirectory.dir("model"))
    doFirst { require(export.resolve("litert").isDirectory) { "-Pexport: $export is no export" } }
}

android {
    namespace = "org.example.attention"
    compileSdk = 35
    defaultConfig {
        applicationId = "org.example.attention"
        minSdk = 21
        targetSdk = 35
        versionCode = 1
        versionName = "1"
    }
    sourceSets["main"].assets.srcDir(layout.buildDirectory.dir("model"))
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }
    kotlinOptions { jvmTarget = "17" }
}
tasks.named("preBuild") { dependsOn(model) }

dependencies {
    // The line of LiteRT that has the interpreter as its main interface; it reads every file of an export.
    implementation("com.google.ai.edge.litert:litert:1.4.2")
}
